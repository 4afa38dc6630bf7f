import { useEffect, useId, useMemo, useRef } from 'preact/hooks';
import type { Course } from '#pages/instance/course';
import type { CourseModel, Shown } from '#pages/instance/course-model';
import { followGestures } from '#pages/instance/gestures';
import { type ChartPoint, styleOfMode } from '#pages/instance/lines';
import type { Plot, PlotMarks } from '#pages/instance/plot';
import { including, PAN_STEP, panned, type Range, ZOOM_STEP, zoomed } from '#pages/instance/zoom';
import { numberText } from '#pages/parts/format';
import { LineChoice, Readout, usePlot } from '#view/instance/chart';
import { DriftMarks } from '#view/instance/deviation';
import { PointsTable } from '#view/instance/points-table';

/** Distance within which a tap selects a known state, in pixels. */
const SNAP_PX = 8;

const LABEL = 'Modes, energy and stability by cycle';

const CHART_ID = 'course-chart';

/** Focuses the chart, before a focused element next to the chart disappears. */
export function focusChart(): void {
  document.getElementById(CHART_ID)?.focus({ preventScroll: true });
}

/** Chart of a generation that mouse, touch and keyboard zoom, move and select in. */
export function CourseChart({
  model,
  shown: { course, range, selected, pinned, present },
}: {
  readonly model: CourseModel;
  readonly shown: Shown;
}) {
  const { points, generation } = course;
  const whole = wholeOf(course.extent);
  const visible = range ?? whole;
  const [from, to] = visible;
  const pinnedAt = pinned?.generation === generation ? pinned.cycle : undefined;
  const marks = useMemo<PlotMarks>(
    () => marksOf(course, [from, to], [selected, pinnedAt], present),
    [points, course.observations, from, to, selected, pinnedAt, present],
  );
  const { canvas, plot, width, pointed } = usePlot(points, marks);
  const control = useControl(model, plot);
  const hintId = useId();
  useEffect(
    () => (canvas.current === null ? undefined : followGestures(canvas.current, control.gestures)),
    [],
  );
  const drifts = course.drifts.map(({ cycle, drift_level: level, rolled_back: isRolledBack }) => ({
    ...{ x: cycle, level, isRolledBack },
  }));
  const read = points[pointed ?? -1] ?? course.pointAt(selected ?? -1) ?? points.at(-1);
  const at = course.pointAt(selected ?? -1) ?? points.at(-1);
  return (
    <figure class="line-chart">
      <ZoomButtons {...{ model, visible, whole }} isWhole={range === undefined} />
      <div
        ref={canvas}
        id={CHART_ID}
        class="line-chart-canvas is-course"
        role="slider"
        aria-label={LABEL}
        aria-describedby={hintId}
        aria-valuemin={whole[0]}
        aria-valuemax={whole[1]}
        aria-valuenow={at?.x ?? whole[0]}
        aria-valuetext={textOf(at)}
        tabIndex={0}
        onKeyDown={control.onKeyDown}
      />
      <DriftMarks
        {...{ marks: drifts, chosen: selected, width }}
        range={visible}
        unit="Cycle"
        onChoose={(x) => void model.select(x)}
      />
      <figcaption>
        <Readout of={read} unit="Cycle" />
        <LineChoice of={read} plot={plot} />
        <p class="quiet" id={hintId}>
          Click or tap to select a state. With the chart focused, the arrow keys select, Shift with
          the arrow keys moves, + and − zoom, and 0 shows all. Drag to move. To zoom, pinch, or turn
          the wheel with Ctrl or ⌘.
        </p>
        <PointsTable points={points} unit="Cycle" label={LABEL} />
      </figcaption>
    </figure>
  );
}

/** A course without length gets a range around its only state. */
function wholeOf([from, to]: Range): Range {
  return from === to ? [from - 1, to + 1] : [from, to];
}

function marksOf(
  course: Course,
  range: Range,
  selected: readonly (number | undefined)[],
  present: number | undefined,
): PlotMarks {
  const { generation, extent } = course;
  const visible = course.observations.filter(({ cycle }) => cycle >= range[0] && cycle <= range[1]);
  return {
    range,
    observations: visible.map(({ cycle, mode_target: mode, signal_strength: signal }) => ({
      ...{ x: cycle, style: styleOfMode(mode), signal },
    })),
    selected: selected.filter((x) => x !== undefined),
    resets: [
      ...(generation > 1 ? [extent[0]] : []),
      ...(present !== undefined && generation < present ? [extent[1]] : []),
    ],
  };
}

function textOf(point: ChartPoint | undefined): string {
  if (point === undefined) return 'No state yet';
  const { x, report } = point;
  const { stress_state: stress } = report.snapshot;
  return `Cycle ${numberText(x)}, stress ${stress}, drift ${report.drift.level}`;
}

type ZoomProps = {
  readonly model: CourseModel;
  readonly visible: Range;
  readonly whole: Range;
  readonly isWhole: boolean;
};

/** Buttons that zoom and move, with the visible part. */
function ZoomButtons({ model, visible, whole, isWhole }: ZoomProps) {
  const step = PAN_STEP * (visible[1] - visible[0]);
  const move = (by: number) => () => {
    if (!isWhole) model.show(panned(visible, whole, by));
  };
  const zoom = (factor: number) => () => model.show(zoomed(visible, whole, factor));
  return (
    <p class="button-row">
      <button type="button" class="is-small" aria-keyshortcuts="+" onClick={zoom(ZOOM_STEP)}>
        Zoom in
      </button>
      <button
        type="button"
        class="is-small"
        aria-keyshortcuts="-"
        aria-disabled={isWhole}
        onClick={zoom(1 / ZOOM_STEP)}
      >
        Zoom out
      </button>
      <button
        type="button"
        class="is-small"
        aria-label="Earlier"
        aria-keyshortcuts="Shift+ArrowLeft"
        aria-disabled={isWhole}
        onClick={move(-step)}
      >
        ◂
      </button>
      <button
        type="button"
        class="is-small"
        aria-label="Later"
        aria-keyshortcuts="Shift+ArrowRight"
        aria-disabled={isWhole}
        onClick={move(step)}
      >
        ▸
      </button>
      <button
        type="button"
        class="is-small"
        aria-keyshortcuts="0"
        aria-disabled={isWhole}
        onClick={() => model.show(undefined)}
      >
        Show all
      </button>
      <span class="quiet" role="status">
        Cycles {numberText(Math.max(0, Math.ceil(visible[0])))} to{' '}
        {numberText(Math.floor(visible[1]))}
        {isWhole ? '' : ` of ${numberText(whole[1])}`}
      </span>
    </p>
  );
}

/** Handlers of pointers and keys. They read the newest state, so they never change. */
function useControl(model: CourseModel, plot: { readonly current: Plot | undefined }) {
  const made = useRef<ReturnType<typeof controlOf> | undefined>(undefined);
  made.current ??= controlOf(model, plot);
  return made.current;
}

function controlOf(model: CourseModel, plot: { readonly current: Plot | undefined }) {
  const ranges = (): { readonly whole: Range; readonly visible: Range } => {
    const { course, range } = model.shown.value;
    const whole = wholeOf(course.extent);
    return { whole, visible: range ?? whole };
  };
  const zoom = (factor: number, at?: number): void => {
    const { whole, visible } = ranges();
    model.show(zoomed(visible, whole, factor, at));
  };
  const pan = (by: number): void => {
    const { whole, visible } = ranges();
    if (model.shown.value.range !== undefined) model.show(panned(visible, whole, by));
  };
  const select = (point: ChartPoint | undefined): void => {
    if (point === undefined) return;
    const { whole } = ranges();
    const { range } = model.shown.value;
    if (range !== undefined) model.show(including(range, whole, point.x));
    void model.select(point.x);
  };
  return {
    gestures: {
      zoom: (factor: number, clientX: number) => zoom(factor, plot.current?.xAt(clientX)),
      pan: (byPx: number) => pan(byPx / (plot.current?.unitPx() ?? 1)),
      tap: (clientX: number) => {
        if (plot.current !== undefined) tap(model, plot.current, clientX);
      },
    },
    onKeyDown(event: KeyboardEvent) {
      const { points } = model.shown.value.course;
      const { visible } = ranges();
      const step = PAN_STEP * (visible[1] - visible[0]);
      const acts: Readonly<Record<string, () => void>> = {
        ...{ '+': () => zoom(ZOOM_STEP), '=': () => zoom(ZOOM_STEP) },
        ...{ '-': () => zoom(1 / ZOOM_STEP), '0': () => model.show(undefined) },
        ...{ 'Shift ArrowLeft': () => pan(-step), 'Shift ArrowRight': () => pan(step) },
        ...{
          ArrowLeft: () => select(beside(model, -1)),
          ArrowDown: () => select(beside(model, -1)),
        },
        ...{ ArrowRight: () => select(beside(model, 1)), ArrowUp: () => select(beside(model, 1)) },
        ...{ Home: () => select(points[0]), End: () => select(points.at(-1)) },
      };
      const isArrow = event.key.startsWith('Arrow');
      const act = acts[isArrow && event.shiftKey ? `Shift ${event.key}` : event.key];
      if (act === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      act();
    },
  };
}

/** The known state before (-1) or after (1) the selected state. */
function beside(model: CourseModel, by: -1 | 1): ChartPoint | undefined {
  const { course, selected } = model.shown.value;
  const { points } = course;
  if (selected === undefined) return points.at(-1);
  const others = by < 0 ? points.toReversed() : points;
  return others.find(({ x }) => by * (x - selected) > 0);
}

/** Selects the known state below the pointer, or else the exact cycle. */
function tap(model: CourseModel, plot: Plot, clientX: number): void {
  const { course } = model.shown.value;
  const x = plot.xAt(clientX);
  const [first, last] = course.extent;
  const nearest = course.points.toSorted((a, b) => Math.abs(a.x - x) - Math.abs(b.x - x))[0];
  const isNear = nearest !== undefined && Math.abs(nearest.x - x) * plot.unitPx() <= SNAP_PX;
  const exact = Math.min(Math.max(Math.round(x), Math.max(first, course.first)), last);
  void model.select(isNear ? nearest.x : exact);
}
