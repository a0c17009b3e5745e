/** Pointer, wheel and keys on a panel. */

import type { At, PanelView } from "./panel";

const SLOP = 4;

/** Listen; the answer stops it. */
export function attend(panel: PanelView): () => void {
  const { grid } = panel;
  const pointers = new Map<number, { x: number; y: number }>();
  let from: At | null = null;
  let start = { x: 0, y: 0 };
  let doing: "nothing" | "pressing" | "selecting" | "panning" | "pinching" = "nothing";
  let last = { x: 0, y: 0 };

  const point = (event: MouseEvent): { x: number; y: number } => {
    const box = grid.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };

  const down = (event: PointerEvent): void => {
    if (event.button !== 0) return;
    pointers.set(event.pointerId, point(event));
    if (pointers.size === 2) doing = "pinching";
    if (pointers.size > 1) return;
    start = last = point(event);
    from = panel.near(start.x, start.y);
    doing = "pressing";
    if (event.pointerType !== "touch" || panel.zoom > 1) grid.setPointerCapture(event.pointerId);
  };

  const move = (event: PointerEvent): void => {
    const now = point(event);
    if (doing === "pinching") {
      pinch(event.pointerId, now);
      return;
    }
    if (doing === "pressing" && Math.hypot(now.x - start.x, now.y - start.y) > SLOP) {
      const drawn = event.pointerType === "touch" ? "nothing" : "selecting";
      doing = panel.zoom > 1 && !event.shiftKey ? "panning" : drawn;
      panel.glance(null);
    }
    if (doing === "panning") panel.panBy(last.x - now.x, last.y - now.y);
    last = now;
    if (doing === "selecting") panel.drag(from!, panel.near(now.x, now.y));
    else if (doing === "nothing") panel.glance(panel.at(now.x, now.y));
  };

  const pinch = (id: number, now: { x: number; y: number }): void => {
    const spread = (): number => {
      const [a, b] = [...pointers.values()];
      return a && b ? Math.max(1, Math.hypot(a.x - b.x, a.y - b.y)) : 1;
    };
    const before = spread();
    if (pointers.has(id)) pointers.set(id, now);
    const [a, b] = [...pointers.values()];
    if (a && b) panel.zoomBy(spread() / before, (a.x + b.x) / 2, (a.y + b.y) / 2);
  };

  const up = (event: PointerEvent): void => {
    pointers.delete(event.pointerId);
    if (doing === "pressing" && event.type === "pointerup") {
      const at = panel.at(start.x, start.y);
      if (at) {
        panel.cursor = at;
        panel.pin(at, event.shiftKey ? "range" : event.ctrlKey || event.metaKey ? "toggle" : "only");
      }
    }
    if (doing === "selecting") panel.drag(from!, null);
    if (pointers.size === 0) doing = "nothing";
  };

  const leave = (): void => {
    if (doing === "nothing") panel.glance(null);
  };

  /** A pinch zooms always; the wheel where there is something to see and the panel has the focus. */
  const wheel = (event: WheelEvent): void => {
    const focused = grid.matches(":focus");
    if (!event.ctrlKey && !event.metaKey && !(focused && panel.zoomable())) return;
    if (!event.ctrlKey && !event.metaKey && panel.zoom === 1 && event.deltaY > 0) return;
    event.preventDefault();
    const { x, y } = point(event);
    const lines = event.deltaMode === 1 ? 16 : 1;
    panel.zoomBy(Math.exp(-event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.002)), x, y);
  };

  const key = (event: KeyboardEvent): void => {
    if (press(panel, event)) {
      event.preventDefault();
      event.stopPropagation();
    }
  };

  const focus = (): void => {
    if (grid.matches(":focus-visible")) panel.moveTo(panel.cursor ?? { row: 0, column: 0 });
  };
  const blur = (): void => panel.glance(null);

  const stop = new AbortController();
  const { signal } = stop;
  grid.addEventListener("pointerdown", down, { signal });
  grid.addEventListener("pointermove", move, { signal });
  grid.addEventListener("pointerup", up, { signal });
  grid.addEventListener("pointercancel", up, { signal });
  grid.addEventListener("pointerleave", leave, { signal });
  grid.addEventListener("wheel", wheel, { signal, passive: false });
  grid.addEventListener("keydown", key, { signal });
  grid.addEventListener("focus", focus, { signal });
  grid.addEventListener("blur", blur, { signal });
  return () => stop.abort();
}

/** Whether a key was for this panel. */
function press(panel: PanelView, event: KeyboardEvent): boolean {
  if (event.altKey || event.metaKey) return false;
  const { rows, columns } = panel.table;
  const [blockRows] = panel.panel.blocks;
  const page = blockRows > 1 ? panel.panel.cells[0] : Math.min(8, rows);
  const at = panel.cursor ?? { row: 0, column: 0 };
  const moves: Record<string, At> = {
    ArrowLeft: { ...at, column: at.column - 1 },
    ArrowRight: { ...at, column: at.column + 1 },
    ArrowUp: { ...at, row: at.row - 1 },
    ArrowDown: { ...at, row: at.row + 1 },
    Home: { row: event.ctrlKey ? 0 : at.row, column: 0 },
    End: { row: event.ctrlKey ? rows - 1 : at.row, column: columns - 1 },
    PageUp: { ...at, row: at.row - page },
    PageDown: { ...at, row: at.row + page },
  };
  const to = Object.hasOwn(moves, event.key) ? moves[event.key] : undefined;
  if (to) {
    if (event.shiftKey) panel.holdAnchor();
    else panel.letAnchorGo();
    panel.moveTo(to);
    if (event.shiftKey) panel.pin(panel.cursor!, "range");
    return true;
  }
  if (event.key === "Enter" || event.key === " ") {
    panel.moveTo(at);
    panel.pin(at, event.shiftKey ? "range" : event.ctrlKey ? "toggle" : "only");
    return true;
  }
  if (event.ctrlKey) return false;
  if (event.key === "+" || event.key === "=") panel.zoomAtCursor(1.5);
  else if (event.key === "-") panel.zoomAtCursor(1 / 1.5);
  else if (event.key === "0" || event.key === "f") panel.zoomBy(0);
  else return false;
  return true;
}
