import { useRef, useState } from 'preact/hooks';
import { numberText } from '#pages/format';
import { PLOT_LEFT_PX, PLOT_RIGHT_PX } from '#pages/instance/plot';

/** A drift event on the x axis of a chart. */
export type DriftMark = { readonly x: number; readonly level: string };

/** Marks that are shown, the newest. Chosen: more of them cover one another. */
const MARKS_MAX = 100;

/** How wide a mark with its level is, in pixels; closer ones are without it. */
const MARK_PX = 26;

type DriftMarksProps = {
  readonly marks: readonly DriftMark[];
  readonly chosen: number | undefined;
  readonly range: readonly [number, number];
  readonly width: number;
  readonly unit: string;
  readonly onChoose: (x: number) => void;
};

/**
 * The drift events below a chart, each where its observation is. They are one stop of the Tab key; the
 * arrow keys lead from one to the next, Enter chooses.
 */
export function DriftMarks({ marks, chosen, range, width, unit, onChoose }: DriftMarksProps) {
  const strip = useRef<HTMLDivElement>(null);
  const [current, setCurrent] = useState<number | undefined>();
  const shown = marks.slice(-MARKS_MAX);
  if (shown.length === 0) return null;
  const stop = shown.some(({ x }) => x === current) ? current : shown.at(-1)?.x;
  const move = (event: KeyboardEvent) => {
    const at = shown.findIndex(({ x }) => x === stop);
    const next = indexAfter(event.key, at, shown.length);
    const mark = next === undefined ? undefined : shown[next];
    if (mark === undefined) return;
    event.preventDefault();
    setCurrent(mark.x);
    strip.current?.querySelector<HTMLElement>(`[data-x="${mark.x}"]`)?.focus();
  };
  const inside = width - PLOT_LEFT_PX - PLOT_RIGHT_PX;
  const leftOf = (x: number) =>
    PLOT_LEFT_PX + ((x - range[0]) / (range[1] - range[0])) * Math.max(0, inside);
  const isTight = shown.some(
    ({ x }, index) => index > 0 && leftOf(x) - leftOf(shown[index - 1]?.x ?? x) < MARK_PX,
  );
  const hiddenCount = marks.length - shown.length;
  return (
    <>
      <div ref={strip} class="marks" role="toolbar" aria-label="Drift marks" onKeyDown={move}>
        {shown.map(({ x, level }) => (
          <button
            key={x}
            type="button"
            class={`mark is-${level} ${isTight ? 'is-tight' : ''}`}
            data-x={x}
            style={{ left: `${leftOf(x)}px` }}
            tabIndex={x === stop ? 0 : -1}
            aria-pressed={x === chosen}
            aria-label={`Drift ${level} at ${unit.toLowerCase()} ${numberText(x)}`}
            onClick={() => {
              setCurrent(x);
              onChoose(x);
            }}
          >
            {isTight ? '' : level}
          </button>
        ))}
      </div>
      {hiddenCount === 0 ? null : (
        <p class="quiet">
          The newest {MARKS_MAX} of {numberText(marks.length)} drift marks.
        </p>
      )}
    </>
  );
}

function indexAfter(key: string, at: number, count: number): number | undefined {
  switch (key) {
    case 'ArrowLeft':
      return Math.max(0, at - 1);
    case 'ArrowRight':
      return Math.min(count - 1, at + 1);
    case 'Home':
      return 0;
    case 'End':
      return count - 1;
    default:
      return undefined;
  }
}
