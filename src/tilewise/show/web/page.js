/* Starts the explorer: a page under a strict policy has no script of its own. */
import "./hardware.js";
import { explore } from "./explorer.js";

explore(document.getElementById("explorer"));
