/** What this part has of the first bundle: one import, which `tilewise.show.bundle` finds. */

export {
  LayoutError,
  MOST_STEPS,
  Stored,
  cut,
  extentsOf,
  install,
  type Asked,
  type DType,
  type Encoded,
  type Layout,
  type Mode,
  type Note,
  type Resolved,
  type Step,
  type Suggestion,
} from "tilewise";
