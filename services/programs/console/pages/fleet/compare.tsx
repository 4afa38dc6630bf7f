import type { ComponentChildren } from 'preact';
import type { Contract } from '#clients/typescript/src/models';
import { actionsOf, factsOf, furthestText, type Side } from '#pages/fleet/comparison';
import { instanceAddress, lastFleetAddress } from '#pages/fleet/view';
import { instanceApi } from '#pages/instance/api';
import { MODES, valuesOf } from '#pages/instance/modes';
import { useLoaded } from '#pages/shell/loaded';
import { Empty, WhenLoaded } from '#view/parts/notice';
import { Radar } from '#view/parts/radar';
import { Link, Page } from '#view/shell/router';

/** Comparison of two instances, given by `a` and `b` in the query. */
export function ComparePage({ query }: { readonly query: string }) {
  const params = new URLSearchParams(query);
  const [a, b] = [params.get('a') ?? '', params.get('b') ?? ''];
  return (
    <Page
      title="Compare two instances"
      lead="State after the last cycle of each instance. Differences are second minus first."
      actions={
        <Link to={lastFleetAddress()} class="button">
          Choose others
        </Link>
      }
    >
      {a === '' || b === '' || a === b ? (
        <Empty title="Select two instances">
          <p>
            <Link to={lastFleetAddress()}>Select two in the list</Link>, then compare them.
          </p>
        </Empty>
      ) : (
        <Sides key={`${a} ${b}`} a={a} b={b} />
      )}
    </Page>
  );
}

/** Loads both instances separately, so that an error names the missing instance. */
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
  // Cycles outside the band have a drift event (interface 2.7). No event means D0.
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

/** Names of both instances, with ids if the names are equal. */
function namesOf({ instance: a }: Side, { instance: b }: Side): readonly [string, string] {
  if (a.name !== b.name) return [a.name, b.name];
  return [`${a.name} (${a.id})`, `${b.name} (${b.id})`];
}

/** Names of both instances. */
type Names = readonly [string, string];

const STANDING_CLASS = { allowed: 'is-good', forbidden: 'is-warning', open: 'is-off' } as const;

/** Table of properties: state and decision style. */
function FactComparison({
  names,
  first,
  second,
}: {
  readonly names: Names;
  readonly first: Side;
  readonly second: Side;
}) {
  const heads = [first, second].map(({ instance: { id } }, index) => (
    <Link key={id} to={instanceAddress(id)}>
      {names[index]}
    </Link>
  ));
  return (
    <section class="card" aria-labelledby="state">
      <h2 id="state">State and style</h2>
      <FactTable {...{ names, heads }} facts={factsOf(first, second)} />
    </section>
  );
}

/** Table of properties of two states, with their differences. */
export function FactTable({
  names,
  heads,
  facts,
}: {
  readonly names: Names;
  /** Contents of the two heads. */
  readonly heads: readonly ComponentChildren[];
  readonly facts: ReturnType<typeof factsOf>;
}) {
  return (
    <table class="rows is-plain compared">
      <thead>
        <tr>
          <th scope="col">
            <span class="unseen">What</span>
          </th>
          {heads.map((head, index) => (
            <th key={index} scope="col">
              {head}
            </th>
          ))}
          <th scope="col">Difference</th>
        </tr>
      </thead>
      <tbody>
        {facts.map(({ what, first: one, second: other, difference }) => (
          <tr key={what}>
            <th scope="row">{what}</th>
            <td data-label={names[0]}>{one}</td>
            <td data-label={names[1]}>{other}</td>
            <td data-label="Difference" class={difference === '' ? 'quiet' : ''}>
              {difference === '' ? 'same' : difference}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Actions of two instances: the differing and the equal ones. */
function ActionComparison({
  names,
  first,
  second,
}: {
  readonly names: Names;
  readonly first: Contract;
  readonly second: Contract;
}) {
  return (
    <section class="card is-top" aria-labelledby="actions">
      <h2 id="actions">Actions</h2>
      <ActionTable names={names} difference={actionsOf(first, second)} />
    </section>
  );
}

/** Table with differing actions of two contracts, and lists with equal actions. */
export function ActionTable({
  names,
  difference: { differing, allowed, forbidden },
}: {
  readonly names: Names;
  readonly difference: ReturnType<typeof actionsOf>;
}) {
  return (
    <div class="action-table">
      {differing.length === 0 ? (
        <p>Both contracts allow and forbid the same actions.</p>
      ) : (
        <table class="rows is-plain compared">
          <thead>
            <tr>
              <th scope="col">Differs in</th>
              <th scope="col">{names[0]}</th>
              <th scope="col">{names[1]}</th>
            </tr>
          </thead>
          <tbody>
            {differing.map((one) => (
              <tr key={one.action}>
                <th scope="row">{one.action}</th>
                {([one.first, one.second] as const).map((standing, index) => (
                  <td key={names[index]} data-label={names[index]}>
                    <span class={`badge ${STANDING_CLASS[standing]}`}>{standing}</span>
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <Alike text="Both allow" actions={allowed} />
      <Alike text="Both forbid" actions={forbidden} />
      <p class="hint">The caller decides about open actions.</p>
    </div>
  );
}

function Alike({ text, actions }: { readonly text: string; readonly actions: readonly string[] }) {
  return actions.length === 0 ? null : (
    <p>
      <span class="quiet">{text}:</span> {actions.join(', ')}.
    </p>
  );
}
