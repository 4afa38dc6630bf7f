import { furthestText, type Side } from '#pages/comparison';
import { MODES, valuesOf } from '#pages/instance-answers';
import { instanceApi } from '#pages/instance-api';
import { useLoaded } from '#pages/loaded';
import { ActionComparison, FactComparison } from '#view/compare-tables';
import { Link } from '#view/link';
import { Empty, WhenLoaded } from '#view/notice';
import { Page } from '#view/page';
import { Radar } from '#view/radar';

/** Two instances side by side, named by the query's `a` and `b`. */
export function ComparePage({ query }: { readonly query: string }) {
  const params = new URLSearchParams(query);
  const [a, b] = [params.get('a') ?? '', params.get('b') ?? ''];
  return (
    <Page
      title="Compare two instances"
      lead="Both as they are after their last cycle. Differences are counted from the first to the second."
      actions={
        <Link to="/instances" class="button">
          Choose others
        </Link>
      }
    >
      {a === '' || b === '' || a === b ? (
        <Empty title="Two instances are needed">
          <p>
            <Link to="/instances">Select two in the list</Link>, then compare them.
          </p>
        </Empty>
      ) : (
        <Sides key={`${a} ${b}`} a={a} b={b} />
      )}
    </Page>
  );
}

/** Each is loaded for itself, so that one that is not there is named. */
function Sides({ a, b }: { readonly a: string; readonly b: string }) {
  const first = useLoaded(() => sideOf(a));
  const second = useLoaded(() => sideOf(b));
  return (
    <WhenLoaded loading={first} what={`instance ${a}`}>
      {(one) => (
        <WhenLoaded loading={second} what={`instance ${b}`}>
          {(other) => <Comparison first={one} second={other} />}
        </WhenLoaded>
      )}
    </WhenLoaded>
  );
}

async function sideOf(id: string): Promise<Side> {
  const [instance, snapshot, contract, newest] = await Promise.all([
    instanceApi.instance(id),
    instanceApi.snapshot(id),
    instanceApi.contract(id),
    instanceApi.newestDrift(id),
  ]);
  if (snapshot.cycle === 0) return { instance, snapshot, contract, drift: undefined };
  // There is an event for each cycle that was not within the band (interface 2.7).
  const isOfNow = newest !== undefined && newest.cycle >= snapshot.cycle;
  return { instance, snapshot, contract, drift: isOfNow ? newest.drift_level : 'D0' };
}

const AXES = MODES.map(([, name]) => name);

function Comparison({ first, second }: { readonly first: Side; readonly second: Side }) {
  const names = namesOf(first, second);
  const apart = furthestText(first, second);
  return (
    <>
      <div class="cards">
        <section class="card is-top" aria-labelledby="modes">
          <h2 id="modes">Modes</h2>
          <p>{apart}</p>
          <Radar
            axes={AXES}
            series={[
              { name: names[0], kind: 'first', values: valuesOf(first.snapshot.mode_strengths) },
              { name: names[1], kind: 'second', values: valuesOf(second.snapshot.mode_strengths) },
            ]}
            label={`Modes of ${names[0]} and ${names[1]}. ${apart}`}
          />
        </section>
        <ActionComparison names={names} first={first.contract} second={second.contract} />
      </div>
      <FactComparison names={names} first={first} second={second} />
    </>
  );
}

/** Two instances may have the same name: then their ids say which is which. */
function namesOf({ instance: a }: Side, { instance: b }: Side): readonly [string, string] {
  if (a.name !== b.name) return [a.name, b.name];
  return [`${a.name} (${a.id})`, `${b.name} (${b.id})`];
}
