/** The field of an expression: it grows, underlines what is wrong where it is wrong, and knows the catalogue. */

import { hardware } from "../scene/hardware";
import { make } from "../view/dom";

/** What is wrong with a text, and where. */
export interface Fault {
  code: string;
  message: string;
  hint: string | null;
  span: readonly [number, number] | null;
  /** Of a text that is half typed: nothing is wrong yet. */
  quiet: boolean;
}

export interface Field {
  el: HTMLElement;
  input: HTMLTextAreaElement;
  /** Shows a text; nobody is told. */
  set(text: string): void;
  /** Says what is wrong, or that nothing is. */
  fault(fault: Fault | null): void;
  /** Offers what the text may become, while somebody writes it. */
  offer(): void;
}

const LONGEST = 10_000;

/** A field named by `label`; `changed` hears of every keystroke. */
export function field(id: string, label: string, changed: (text: string) => void): Field {
  const input = make("textarea", {
    id,
    rows: 1,
    maxlength: LONGEST,
    spellcheck: "false",
    autocomplete: "off",
    autocapitalize: "off",
    autocorrect: "off",
    "aria-describedby": `${id}-fault`,
  });
  const under = make("div", { class: "under", "aria-hidden": "true" });
  const said = make("div", { class: "fault", id: `${id}-fault`, role: "status" });
  const names = make("ul", { class: "names", "aria-label": "from the catalogue" });
  const el = make(
    "div",
    { class: "field" },
    make("label", { for: id }, label),
    make("div", { class: "paper" }, under, input),
    names,
    said,
  );
  let fault: Fault | null = null;

  function drawn(): void {
    under.replaceChildren(...underlined(input.value, fault));
  }

  function offer(): void {
    if (document.activeElement !== input) return;
    names.replaceChildren(...hardware().suggestions(input.value).map(({ text, words }) => offered(text, words, take)));
  }

  function take(text: string): void {
    input.value = text;
    names.replaceChildren();
    input.focus();
    changed(text);
  }

  input.addEventListener("input", () => {
    changed(input.value);
    offer();
    drawn();
  });
  el.addEventListener("keydown", (event) => {
    const last = names.lastElementChild?.querySelector("button");
    if (event.key === "Enter" && event.target === input) event.preventDefault();
    if (event.key === "Escape") names.replaceChildren();
    if (!last || (event.key !== "ArrowDown" && event.key !== "ArrowUp")) return;
    const stops = [input, ...names.querySelectorAll("button")];
    const at = stops.indexOf(event.target as HTMLTextAreaElement);
    const next = stops[at + (event.key === "ArrowDown" ? 1 : -1)];
    if (at < 0 || !next) return;
    event.preventDefault();
    next.focus();
  });
  el.addEventListener("focusout", (event) => {
    if (!el.contains(event.relatedTarget as Node | null)) names.replaceChildren();
  });

  return {
    el,
    input,
    offer,
    set(text) {
      if (input.value !== text) input.value = text;
      names.replaceChildren();
      drawn();
    },
    fault(found) {
      fault = found;
      const isWrong = found !== null && !found.quiet;
      el.classList.toggle("wrong", isWrong);
      input.setAttribute("aria-invalid", String(isWrong));
      said.replaceChildren(...(found ? faultWords(found) : []));
      drawn();
    },
  };
}

/** The same text below the field's own, with the place that is wrong marked. */
function underlined(text: string, fault: Fault | null): Node[] {
  const end = document.createTextNode("\u200B"); // a last line that is empty has a height
  if (!fault?.span) return [document.createTextNode(text), end];
  const from = Math.min(fault.span[0], text.length);
  const to = Math.max(from, Math.min(fault.span[1], text.length));
  const marked = make("mark", {}, text.slice(from, to) || "\u00A0");
  return [document.createTextNode(text.slice(0, from)), marked, document.createTextNode(text.slice(to)), end];
}

/** What is wrong, in words; where it is, and what to do. */
export function faultWords(fault: Fault): Node[] {
  if (fault.quiet) return [make("p", { class: "hint" }, fault.message)];
  const place = fault.span ? `at ${fault.span[0] + 1}` : "";
  const line = make("p", {}, make("code", {}, fault.code), ` ${fault.message} `);
  if (place) line.append(make("span", { class: "place" }, place));
  return fault.hint ? [line, make("p", { class: "hint" }, fault.hint)] : [line];
}

function offered(text: string, words: string, take: (text: string) => void): HTMLElement {
  const button = make("button", { type: "button" }, make("code", {}, text), make("span", {}, words));
  button.addEventListener("click", () => take(text));
  return make("li", {}, button);
}
