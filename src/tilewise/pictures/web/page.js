/* Starts the explorer: a page under a strict policy has no script of its own. The hardware comes when it is asked for. */
import { explore } from "./explorer.js";

const token = document.querySelector('meta[name="tilewise-token"]')?.content;

/* Only a server that converts texts gives its page a token. */
async function convert(asked) {
  const headers = { "Content-Type": "application/json", "X-Tilewise-Token": token };
  const answer = await fetch("convert", { method: "POST", headers, body: JSON.stringify(asked) });
  if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
  return answer.json();
}

explore(document.getElementById("explorer"), () => import("./hardware.js"), token && convert);
