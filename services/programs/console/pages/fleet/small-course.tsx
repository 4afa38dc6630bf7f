import { useEffect, useRef } from 'preact/hooks';
import type { ListedInstance, PastState, PastStates } from '#clients/typescript/src/models';
import { instanceAddress } from '#pages/fleet/view';
import { instanceApi } from '#pages/instance/api';
import { makePlot } from '#pages/instance/plot';
import { counted } from '#pages/parts/format';
import { Refused } from '#pages/shell/api';
import { useLoaded } from '#pages/shell/loaded';
import { onColours } from '#pages/shell/theme';
import { WhenLoaded } from '#view/parts/notice';
import { Link } from '#view/shell/router';

/** Maximum number of stored states in a small course. */
const POINTS_MAX = 60;

/** Maximum number of exact cycles in a request. */
const EXACT_MAX = 10;

/** Cycles up to which exact states are requested: fewer than `EXACT_MAX` states are stored. */
const YOUNG_CYCLES = 2_304;

/** Height of the picture, in pixels. */
const HEIGHT_PX = 112;

/** Past states of an instance as a small picture: modes, energy and stability, above stress. */
export function SmallCourse({ of }: { readonly of: ListedInstance }) {
  const { id, name } = of;
  const loading = useLoaded(() => pastOf(of, POINTS_MAX), id);
  return (
    <div class="small-course">
      <WhenLoaded loading={loading} what="past">
        {({ states }) => <Picture states={states} name={name} />}
      </WhenLoaded>
      <Link to={`${instanceAddress(id)}?tab=course`}>Whole course</Link>
    </div>
  );
}

/**
 * Past states of the present generation in even steps, with one request: at most `pointsMax` stored
 * states, or exact states of a young instance, of which few states are stored. Throws `Refused`.
 */
async function pastOf(
  { id, cycle_count: last }: { readonly id: string; readonly cycle_count: number },
  pointsMax: number,
): Promise<PastStates> {
  if (last === 0 || last > YOUNG_CYCLES) return await instanceApi.points(id, pointsMax);
  const steps = Math.min(last, EXACT_MAX - 1);
  const cycles = Array.from({ length: steps + 1 }, (_, step) => Math.round((step * last) / steps));
  try {
    return await instanceApi.statesAt(id, cycles);
  } catch (error) {
    // Old cycles may be deleted, a reset may have begun a new generation, or the instance is a fork.
    if (!(error instanceof Refused)) throw error;
    return await instanceApi.points(id, pointsMax);
  }
}

function Picture({
  states,
  name,
}: {
  readonly states: readonly PastState[];
  readonly name: string;
}) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const plot = makePlot(element, () => {}, HEIGHT_PX);
    plot.show(
      states.map((report) => ({ x: report.cycle, at: report.timestamp ?? undefined, report })),
    );
    const sizes = new ResizeObserver(() => plot.resize(element.clientWidth));
    sizes.observe(element);
    const stop = onColours(() => plot.recolour());
    return () => {
      stop();
      sizes.disconnect();
      plot[Symbol.dispose]();
    };
  }, [states]);
  const last = states.at(-1);
  return (
    <div
      ref={box}
      class="small-course-picture"
      role="img"
      aria-label={`${name}: ${counted(states.length, 'past state')} up to cycle ${last?.cycle ?? 0}`}
    />
  );
}
