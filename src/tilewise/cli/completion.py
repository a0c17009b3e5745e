"""Completion for your shell.

eval "$(tilewise completion bash)"        in ~/.bashrc
eval "$(tilewise completion zsh)"         in ~/.zshrc
tilewise completion fish > ~/.config/fish/completions/tilewise.fish
"""

from __future__ import annotations

from tilewise.cli.arguments import parser_for
from tilewise.questions import FORMS, SUMMARIES
from tilewise.questions.asking import asks, inputs, question
from tilewise.questions.report import Report

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Literal

_BASH = """\
_tilewise() {
    local word=${COMP_WORDS[COMP_CWORD]}
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "%(commands)s --help --version" -- "$word"))
        return
    fi
    case ${COMP_WORDS[COMP_CWORD-1]} in
%(values)s
    esac
    case ${COMP_WORDS[1]} in
%(cases)s
    esac
}
complete -o default -F _tilewise tilewise
"""


@asks(shell="SHELL: bash, zsh or fish")
def completion(shell: Literal["bash", "zsh", "fish"]) -> Report:
    """Return the script that teaches a shell the commands and their options.

    >>> completion("fish").script.splitlines()[3]
    "complete -c tilewise -n __fish_use_subcommand -a info -d 'the facts of a layout: size, span, holes, ...'"
    """
    script = {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]()
    return Report({"shell": shell, "script": script}, script.rstrip("\n"))


def _options(command: str) -> list[str]:
    parsers = [parser_for(name) for name in (command, *FORMS.get(command, {}).values())]
    options = dict.fromkeys(option for parser in parsers for option in parser._option_string_actions)
    return [option for option in options if option.startswith("--") and "_" not in option]


def _first_words(command: str) -> Iterable[str]:
    """Return the words that may stand first, if there are only a few."""
    if command == "catalog":
        return [entry["entry"] for entry in question("catalog")().entries]
    if command == "algebra":
        from tilewise.questions.operations import OPERATIONS

        return OPERATIONS
    return next((word.choices for word in inputs(command) if word.is_word), ())


def _values(command: str) -> dict[str, str]:
    """Return {option: its values} of the options that have few, and of `--dtype`."""
    from tilewise.core.dtypes import DTYPES

    actions = parser_for(command)._option_string_actions.items()
    values = {option: " ".join(action.choices) for option, action in actions if action.choices}
    return values | ({"--dtype": " ".join(DTYPES)} if "--dtype" in dict(actions) else {})


def _bash() -> str:
    cases = "\n".join(
        f'        {name}) COMPREPLY=($(compgen -W "{words}" -- "$word")) ;;'
        for name in SUMMARIES
        if (words := " ".join((*_first_words(name), *_options(name))))
    )
    values = {option: words for name in SUMMARIES for option, words in _values(name).items()}
    chosen = "\n".join(
        f'        {option}) COMPREPLY=($(compgen -W "{words}" -- "$word")); return ;;'
        for option, words in values.items()
    )
    return _BASH % {"commands": " ".join(SUMMARIES), "values": chosen, "cases": cases}


def _zsh() -> str:
    return "autoload -U +X compinit bashcompinit && compinit && bashcompinit\n" + _bash()


def _fish() -> str:
    lines = [
        f"complete -c tilewise -n __fish_use_subcommand -a {name} -d '{text}'"
        for name, text in SUMMARIES.items()
    ]
    for name in SUMMARIES:
        asked = f"complete -c tilewise -n '__fish_seen_subcommand_from {name}'"
        lines += [f"{asked} -a {word}" for word in _first_words(name)]
        lines += [f"{asked} -l {option[2:]}" for option in _options(name)]
    return "\n".join(lines) + "\n"
