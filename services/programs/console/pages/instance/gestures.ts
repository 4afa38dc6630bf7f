/** Distance that a pointer moves before a tap becomes a move, in pixels. */
const TAP_PX = 5;

/** Zoom of the mouse wheel: pixels for a factor of e. */
const WHEEL_PX = 300;

/** Actions of a chart that a pointer starts. Positions are horizontal, in pixels of the window. */
export type GestureActions = {
  readonly zoom: (factor: number, clientX: number) => void;
  readonly pan: (byPx: number) => void;
  readonly tap: (clientX: number) => void;
};

/**
 * Follows mouse, pen and touch on an element: a tap, a horizontal drag, a pinch of two fingers,
 * and the wheel. The wheel zooms with Ctrl or ⌘ only, and otherwise
 * scrolls the page. Returns a function that ends this.
 */
export function followGestures(element: HTMLElement, actions: GestureActions): () => void {
  const ending = new AbortController();
  const { signal } = ending;
  const pointers = new Map<number, number>();
  let hasMoved = false;
  const spread = (): number => {
    const [one = 0, other = 0] = pointers.values();
    return Math.abs(one - other);
  };
  const down = (event: PointerEvent): void => {
    if (event.button !== 0) return;
    if (pointers.size === 0) hasMoved = false;
    if (pointers.size < 2) pointers.set(event.pointerId, event.clientX);
    if (pointers.size === 2) hasMoved = true;
  };
  const move = (event: PointerEvent): void => {
    const before = pointers.get(event.pointerId);
    if (before === undefined) return;
    const by = event.clientX - before;
    if (!hasMoved && Math.abs(by) < TAP_PX) return;
    hasMoved = true;
    element.setPointerCapture(event.pointerId);
    const spreadBefore = spread();
    pointers.set(event.pointerId, event.clientX);
    if (pointers.size === 1) actions.pan(-by);
    else if (spreadBefore > 0 && spread() > 0) {
      const [one = 0, other = 0] = pointers.values();
      actions.zoom(spread() / spreadBefore, (one + other) / 2);
    }
  };
  const up = (event: PointerEvent): void => {
    const isTap = pointers.delete(event.pointerId) && !hasMoved && event.type === 'pointerup';
    if (isTap) actions.tap(event.clientX);
  };
  const wheel = (event: WheelEvent): void => {
    const isZoom = event.ctrlKey || event.metaKey;
    if (!isZoom && Math.abs(event.deltaX) <= Math.abs(event.deltaY)) return;
    event.preventDefault();
    if (isZoom) actions.zoom(Math.exp(-event.deltaY / WHEEL_PX), event.clientX);
    else actions.pan(event.deltaX);
  };
  element.addEventListener('pointerdown', down, { signal });
  element.addEventListener('pointermove', move, { signal });
  element.addEventListener('pointerup', up, { signal });
  element.addEventListener('pointercancel', up, { signal });
  element.addEventListener('wheel', wheel, { signal, passive: false });
  return () => ending.abort();
}
