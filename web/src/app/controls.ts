/** The quiet row below the field: what is known of the elements, and how they are asked for. */

import { make } from "../view/dom";
import { faultWords, type Fault } from "./field";

export type Control = "d" | "a" | "s" | "w";

export interface Controls {
  el: HTMLElement;
  set(values: Readonly<Partial<Record<Control, string | undefined>>>): void;
  /** Says what is wrong with one of them, or that nothing is. */
  fault(control: Control | null, fault: Fault | null): void;
}

interface Kind {
  label: string;
  hint: string;
  wide: number;
  list: readonly string[];
}

const KINDS: Readonly<Record<Control, Kind>> = {
  d: {
    label: "dtype",
    hint: "none",
    wide: 6,
    list: "bf16 f16 f32 tf32 f64 e4m3 e5m2 e2m1 s8 u8 s4 s32 b1 b8 b16 b32 b64 b128".split(" "),
  },
  s: { label: "shape", hint: "its own", wide: 9, list: [] },
  a: {
    label: "access",
    hint: "none",
    wide: 13,
    list: (
      "row:16B row:8B row:4B row:2B col:16B col:8B col:4B col:2B ldmatrix.x1 ldmatrix.x2 ldmatrix.x4 " +
      "descriptor.A descriptor.B descriptor.A:tcgen05 descriptor.B:tcgen05 boxes tma wgmma.D:f32:n64 mma.A:m16n8k16"
    ).split(" "),
  },
  w: { label: "window", hint: "0:64,0:64", wide: 11, list: [] },
};

/** The row of controls; `changed` hears which has which text. */
export function controls(changed: (control: Control, text: string) => void): Controls {
  const inputs = new Map<Control, HTMLInputElement>();
  const fault = make("div", { class: "fault", id: "controls-fault", role: "status" });
  const el = make("div", { class: "controls" });
  for (const [name, { label, hint, wide, list }] of Object.entries(KINDS) as [Control, Kind][]) {
    const input = make("input", {
      id: `control-${name}`,
      size: wide,
      maxlength: 200,
      placeholder: hint,
      spellcheck: "false",
      autocomplete: "off",
      autocapitalize: "off",
      "aria-describedby": "controls-fault",
    });
    const of = make("label", { for: input.id }, make("span", {}, label), input);
    if (list.length) {
      input.setAttribute("list", `${input.id}-list`);
      of.append(make("datalist", { id: `${input.id}-list` }, ...list.map((value) => make("option", { value }))));
    }
    input.addEventListener("input", () => changed(name, input.value.trim()));
    inputs.set(name, input);
    el.append(of);
  }
  el.append(fault);
  return {
    el,
    set(values) {
      for (const [name, input] of inputs) {
        const text = values[name] ?? "";
        if (input.value.trim() !== text) input.value = text;
      }
    },
    fault(control, wrong) {
      for (const [name, input] of inputs) input.setAttribute("aria-invalid", String(name === control && !wrong?.quiet));
      fault.replaceChildren(...(wrong ? faultWords(wrong) : []));
    },
  };
}
