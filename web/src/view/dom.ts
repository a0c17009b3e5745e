/** Elements are made here, from tags, attributes and texts: data never becomes markup. */

export type Attributes = Readonly<Record<string, string | number | boolean | null>>;

/** An element with attributes (true is an empty one, false and null are none) and children. */
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false && value !== null) element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children);
  return element;
}

/** A button that says what it does, and does it. */
export function button(text: string, label: string, act: () => void): HTMLButtonElement {
  const element = make("button", { type: "button", "aria-label": label, title: label }, text);
  element.addEventListener("click", act);
  return element;
}

/** Text cut to a length that a page can bear. */
export function short(text: unknown, most = 400): string {
  const whole = String(text ?? "");
  return whole.length > most ? `${whole.slice(0, most - 1)}…` : whole;
}
