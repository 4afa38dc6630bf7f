import { useRef, useState } from 'preact/hooks';
import type { Deviation } from '#clients/typescript/src/models';
import { MODES } from '#pages/instance/modes';
import { PLOT_LEFT_PX, PLOT_RIGHT_PX } from '#pages/instance/plot';
import { decimalText, levelText, localTime, numberText, signedText } from '#pages/parts/format';
import { DriftBadge } from '#view/parts/levels';

/** Deviation at full bar length, in standard deviations. Larger deviations are rare. */
const BAR_Z_MAX = 6;

/**
 * Minimum deviation at which a single mode is outside the band, in standard deviations (model 3.1).
 */
const SINGLE_LIMIT = 2.6901;

type DeviationPartProps = {
  readonly title: string;
  readonly level: string;
  readonly at?: string | undefined;
  readonly isRolledBack: boolean;
  readonly deviation: Deviation;
};

/** Deviation of a state from normal: description, statistics, and a table by mode. */
export function DeviationPart({ title, level, at, isRolledBack, deviation }: DeviationPartProps) {
  const { description, distance, t2, p_value: p, breach, run, sustained } = deviation;
  const facts = [
    ['Distance', decimalText(distance)],
    ['T²', `${decimalText(t2)}, out of the band from 14.07`],
    ['Probability by chance', levelText(p)],
    ['Breach', `${decimalText(breach)}, D3 from 12.59`],
    ['Cycles outside the band', numberText(run)],
    [
      'Evidence of a shift',
      `${decimalText(sustained.statistic)} of ${decimalText(sustained.limit)}`,
    ],
  ] as const;
  return (
    <section class="deviation" aria-label={title}>
      <h3>
        {title} <DriftBadge value={level} />
      </h3>
      <p>
        {at === undefined ? '' : `${localTime(at, 'second')}: `}
        {description}
        {isRolledBack ? ' The modes were rolled back to the last stable state.' : ''}
      </p>
      <dl class="facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <table class="deviations">
        <caption class="unseen">Deviation by mode</caption>
        <thead>
          <tr>
            <th scope="col">Mode</th>
            <th scope="col" class="is-number" title="Standard deviations from the set-point">
              From set-point
            </th>
            <th scope="col">
              <span class="unseen">As a bar</span>
            </th>
            <th scope="col" class="is-number">
              Share of T²
            </th>
          </tr>
        </thead>
        <tbody>
          {deviation.modes.map(({ mode, z, contribution }) => (
            <tr key={mode}>
              <th scope="row">{MODES.find(([key]) => key === mode)?.[1] ?? mode}</th>
              <td class="is-number">{signedText(z)} SD</td>
              <td>
                <Bar z={z} />
              </td>
              <td class="is-number">{decimalText(contribution)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Bar that starts at the center. A bar to the right shows a value above the set-point. */
function Bar({ z }: { readonly z: number }) {
  const length = (Math.min(Math.abs(z), BAR_Z_MAX) / BAR_Z_MAX) * 50;
  const isOut = Math.abs(z) >= SINGLE_LIMIT;
  return (
    <svg
      class={`z-bar ${isOut ? 'is-out' : ''}`}
      viewBox="0 0 100 10"
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <rect x={z < 0 ? 50 - length : 50} y="1" width={length} height="8" />
      <line x1="50" y1="0" x2="50" y2="10" />
    </svg>
  );
}

/** Drift event on the x axis of a chart. */
export type DriftMark = {
  readonly x: number;
  readonly level: string;
  /** Whether the event restored the last stable state. */
  readonly isRolledBack?: boolean;
};

/** Maximum number of marks. Only the newest marks are shown, because more marks would overlap. */
const MARKS_MAX = 100;

/**
 * Width of a mark with its level, in pixels. If any two marks are closer, all marks are shown
 * without levels.
 */
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
 * Drift events below the visible part of a chart, aligned with their observations. The toolbar is
 * one tab stop: arrow keys move between marks, and Enter selects. The toolbar has one listener for
 * all marks, so that a live page adds no listeners.
 */
export function DriftMarks({ marks, chosen, range, width, unit, onChoose }: DriftMarksProps) {
  const strip = useRef<HTMLDivElement>(null);
  const [current, setCurrent] = useState<number | undefined>();
  const visible = marks.filter(({ x }) => x >= range[0] && x <= range[1]);
  const shown = visible.slice(-MARKS_MAX);
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
  const hiddenCount = visible.length - shown.length;
  const choose = ({ target }: MouseEvent) => {
    const x = (target as HTMLElement).closest<HTMLElement>('[data-x]')?.dataset['x'];
    if (x === undefined) return;
    setCurrent(Number(x));
    onChoose(Number(x));
  };
  return (
    <>
      <div
        ref={strip}
        class="marks"
        role="toolbar"
        aria-label="Drift marks"
        onKeyDown={move}
        onClick={choose}
      >
        {shown.map(({ x, level, isRolledBack = false }) => (
          <button
            key={x}
            type="button"
            class={`mark is-${level} ${isTight ? 'is-tight' : ''}`}
            data-x={x}
            style={{ left: `${leftOf(x)}px` }}
            tabIndex={x === stop ? 0 : -1}
            aria-pressed={x === chosen}
            aria-label={`Drift ${level} at ${unit.toLowerCase()} ${numberText(x)}${
              isRolledBack ? ', rolled back' : ''
            }`}
          >
            {isTight ? '' : level}
            {isRolledBack && !isTight ? '↩' : ''}
          </button>
        ))}
      </div>
      {hiddenCount === 0 ? null : (
        <p class="quiet">
          The newest {MARKS_MAX} of {numberText(visible.length)} drift marks.
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
