import { useEffect, useRef } from 'preact/hooks';
import type { ListedInstance, PastState } from '#clients/typescript/src/models';
import { instanceAddress } from '#pages/fleet/view';
import { pastOf } from '#pages/instance/past';
import { makePlot } from '#pages/instance/plot';
import { counted } from '#pages/parts/format';
import { useLoaded } from '#pages/shell/loaded';
import { onColours } from '#pages/shell/theme';
import { WhenLoaded } from '#view/parts/notice';
import { Link } from '#view/shell/router';

/** Maximum number of stored states in a small course. */
const POINTS_MAX = 60;

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
