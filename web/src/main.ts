/** The bundle: `render` is the component that every host shows, `explore` the page around it. */

export { render } from "./view/component";
