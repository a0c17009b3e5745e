/** The first bundle: `render` is the component that every host shows, `explore` and `mount` the page around it. */

export { explore, mount } from "./app/explorer";
export { PRESETS } from "./app/presets";
export { fromFragment, toFragment } from "./app/state";
export * from "./kit";
export { render } from "./view/component";
