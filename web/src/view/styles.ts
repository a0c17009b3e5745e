/** The looks, as a constructable sheet: allowed by `style-src 'self'`, and unreachable for the host's styles. */

import { PALETTES, type Palette } from "./palette";

const SANS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif";
const MONO = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace";

/** The sheet of the component. */
export function sheet(): CSSStyleSheet {
  const made = new CSSStyleSheet();
  made.replaceSync(
    `${variables(".tw", PALETTES.light)}${variables(".tw[data-theme=dark]", PALETTES.dark)}${RULES}`,
  );
  return made;
}

function variables(selector: string, palette: Palette): string {
  const { paper, ink, quiet, rule, empty, name, fills } = palette;
  const swatches = fills.map((fill, i) => `--c${i}:${fill};`).join("");
  return `${selector}{--paper:${paper};--ink:${ink};--quiet:${quiet};--rule:${rule};--empty:${empty};${swatches}color-scheme:${name}}`;
}

const RULES = `
:host{display:block}
.tw{--s:max(12px,.75rem);--m:max(13px,.8125rem);--l:max(14px,.875rem);font:max(15px,.9375rem)/1.5 ${SANS};color:var(--ink);background:var(--paper);text-align:left;overflow-wrap:anywhere;container-type:inline-size}
.tw *{box-sizing:border-box}
.tw [hidden]{display:none}
h2,h3,p,ul,figure,table{margin:0;padding:0}
h2{font-size:1.27em;font-weight:600;line-height:1.3}
h3{font-size:1em;font-weight:600}
code,.mono{font-family:${MONO};font-size:var(--m)}
.words{max-width:46em;margin-top:2px}
.quiet,.words{color:var(--quiet)}
.scenes{display:grid;gap:28px 40px;margin-top:14px}
.scenes:first-child,.panels:first-child{margin-top:0}
.scene{min-width:0}
.notes{list-style:none;margin-top:6px;font-size:var(--l)}
.notes li{max-width:52em}
.notes b{font-weight:600}
.notes .fact{color:var(--quiet)}
.panels{display:flex;flex-wrap:wrap;gap:22px 30px;margin-top:14px;align-items:flex-start}
.panel{min-width:0;max-width:100%}
figcaption{display:grid;grid-template-columns:1fr auto;gap:0 8px;align-items:start;font-size:var(--l);line-height:1.43;margin-bottom:5px}
.name{overflow-wrap:anywhere;min-width:0}
.axes{grid-column:1/-1;font-size:var(--s);line-height:1.33;color:var(--quiet)}
.zooms{display:flex;margin:-2px 0}
button{font:inherit;font-size:var(--s);min-width:24px;min-height:24px;padding:1px 7px;color:var(--ink);background:var(--paper);border:1px solid var(--rule);border-radius:3px;cursor:pointer}
button:hover{border-color:var(--quiet)}
button:disabled{color:var(--quiet);cursor:default;border-color:var(--rule)}
button[aria-pressed=true]{background:var(--ink);color:var(--paper);border-color:var(--ink)}
:focus-visible{outline:2px solid var(--ink);outline-offset:2px}
.stage{position:relative;overflow:hidden}
.grid,.heads{position:absolute}.grid{overflow:hidden}
.grid{cursor:crosshair;touch-action:pan-x pan-y;user-select:none;-webkit-user-select:none}
.grid:focus-visible{outline-offset:-2px}
.grid.zoomed{cursor:grab;touch-action:none}
.grid.zoomed:active{cursor:grabbing}
canvas{position:absolute;inset:0;width:100%;height:100%;display:block;pointer-events:none}
[role=row],.hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.zooms button{border-color:transparent;color:var(--quiet)}
.zooms button:hover{border-color:var(--rule);color:var(--ink)}
.heads{z-index:1;font:11px/13px ${MONO};color:var(--quiet);pointer-events:none}
.heads span{position:absolute;white-space:nowrap}
.top span{transform:translateX(-50%);bottom:2px}
.top .block{transform:none;bottom:auto;font-family:${SANS};line-height:16px}
.side span{right:6px;transform:translateY(-50%)}
.legend{display:flex;flex-wrap:wrap;align-items:center;gap:4px 10px;margin-top:14px;font-size:var(--m);color:var(--quiet)}
.swatches{display:inline-flex;gap:1px}
.swatches span{width:19px;height:17px;font:11px/17px ${MONO};text-align:center;color:var(--ink)}
${Array.from({ length: 8 }, (_, i) => `.s${i}{background:var(--c${i})}`).join("")}
.step{margin-top:10px;font-size:var(--l);min-height:1.5em}
.step b{font-weight:600}
.word{margin-top:8px}
.word caption{padding:0}
.strip{display:flex;height:20px;margin:4px 0;background:var(--empty)}
.strip span{flex-basis:0;overflow:hidden;text-align:center;font:11px/20px ${MONO};color:var(--ink)}
.word b{display:inline-block;min-width:46px;margin-right:8px;text-align:center;font:11px/17px ${MONO};color:var(--ink)}
.word td:last-child{font-family:inherit}
.player{display:flex;align-items:center;gap:8px;margin-top:16px;font-size:var(--l)}
.player input{flex:0 1 320px;min-width:60px;accent-color:var(--ink);margin:0;height:24px}
.foot{display:flex;flex-wrap:wrap;align-items:flex-start;gap:6px 16px;margin-top:16px;padding-top:9px;border-top:1px solid var(--rule)}
.line{flex:1 1 300px;white-space:pre-line;min-height:3em;font-size:var(--l)}
.tools{display:flex;gap:6px}
.rows{margin-top:14px;overflow-x:auto}
table{border-collapse:collapse;font-size:var(--m);overflow-wrap:normal}
caption{text-align:left;white-space:nowrap;color:var(--quiet);padding-bottom:4px}
th,td{padding:2px 14px 2px 0;text-align:left;border-bottom:1px solid var(--rule);white-space:nowrap;vertical-align:top}
th{font-weight:600}
td{font-family:${MONO};white-space:normal}
td input{display:block;margin:1px 0;width:18px;height:18px;accent-color:var(--ink)}
.pages{display:flex;align-items:center;gap:8px;margin-top:8px;font-size:var(--m)}
.fault{padding:14px 0;color:var(--ink)}
dialog{max-width:min(34em,92vw);color:var(--ink);background:var(--paper);border:1px solid var(--quiet);border-radius:4px;padding:18px 22px;box-shadow:0 8px 30px rgb(0 0 0/.18);font-size:var(--l)}
dialog::backdrop{background:rgb(0 0 0/.25)}
dialog h2{font-size:1.15em;margin-bottom:8px}
dialog td,dialog th{padding:3px 18px 3px 0;white-space:normal;font-weight:400;font-family:inherit}
kbd{font-family:${MONO};font-size:var(--m);display:inline-block;margin-right:5px}
dialog form{float:right}
@container (min-width:900px){.scenes[data-count="2"]{grid-template-columns:1fr 1fr}}
@container (max-width:480px){.word :is(tbody,tr,td:last-child){display:block}.word :is(th,td:not(:last-child)){border:0}.word td:last-child{padding-bottom:6px}.player input{flex:1 1 60px}.panels{gap:20px}th,td{padding-right:9px}caption{white-space:normal}}
@media (forced-colors:active){canvas,.swatches span,[aria-pressed=true]{forced-color-adjust:none}}
@media print{
.tools,.zooms,.player,.pages,.line{display:none}
.foot{border:0}
.tw,.swatches span{print-color-adjust:exact;-webkit-print-color-adjust:exact}
.panel,.scene tr{break-inside:avoid}
}
`;
