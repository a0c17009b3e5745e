"""Completion for your shell.

eval "$(tilewise completion bash)"        in ~/.bashrc
eval "$(tilewise completion zsh)"         in ~/.zshrc
tilewise completion fish > ~/.config/fish/completions/tilewise.fish
"""

from __future__ import annotations

import argparse

from tilewise.cli.answer import Answer
from tilewise.cli.commands import SUMMARIES

_BASH = """\
_tilewise() {
    local word=${COMP_WORDS[COMP_CWORD]}
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "%(commands)s --help --version" -- "$word"))
        return
    fi
    case ${COMP_WORDS[1]} in
%(cases)s
    esac
}
complete -o default -F _tilewise tilewise
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """SHELL."""
    parser.add_argument("shell", metavar="SHELL", choices=("bash", "zsh", "fish"), help="bash, zsh or fish")


def answer(args: argparse.Namespace) -> Answer:
    """The script that teaches a shell the commands and their options."""
    script = {"bash": _bash, "zsh": _zsh, "fish": _fish}[args.shell]()
    return Answer({"shell": args.shell, "script": script}, script.rstrip("\n"))


def _options(command: str) -> list[str]:
    from tilewise.cli.arguments import parser_for

    return [option for option in parser_for(command)._option_string_actions if option.startswith("--")]


def _bash() -> str:
    cases = "\n".join(
        f'        {name}) COMPREPLY=($(compgen -W "{" ".join(_options(name))}" -- "$word")) ;;'
        for name in SUMMARIES
    )
    return _BASH % {"commands": " ".join(SUMMARIES), "cases": cases}


def _zsh() -> str:
    return "autoload -U +X bashcompinit && bashcompinit\n" + _bash()


def _fish() -> str:
    lines = [
        f"complete -c tilewise -n __fish_use_subcommand -a {name} -d '{text}'"
        for name, text in SUMMARIES.items()
    ]
    for name in SUMMARIES:
        lines += [
            f"complete -c tilewise -n '__fish_seen_subcommand_from {name}' -l {option[2:]}"
            for option in _options(name)
        ]
    return "\n".join(lines) + "\n"
