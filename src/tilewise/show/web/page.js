/* Starts the explorer: a page under a strict policy has no script of its own. The hardware comes when it is asked for. */
import { explore } from "./explorer.js";

explore(document.getElementById("explorer"), () => import("./hardware.js"));
