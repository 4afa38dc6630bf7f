import { actionsOf, factsOf, type Side } from '#pages/comparison';
import type { Contract } from '#pages/instance-answers';
import { instanceAddress } from '#view/instance-table';
import { Link } from '#view/link';

/** The names of both instances. */
type Names = readonly [string, string];

const STANDING_CLASS = { allowed: 'is-good', forbidden: 'is-warning', open: 'is-off' } as const;

/** What the two are and how they decide, row by row. */
export function FactComparison({
  names,
  first,
  second,
}: {
  readonly names: Names;
  readonly first: Side;
  readonly second: Side;
}) {
  const ids = [first.instance.id, second.instance.id] as const;
  return (
    <section class="card" aria-labelledby="state">
      <h2 id="state">State and style</h2>
      <table class="rows is-plain compared">
        <thead>
          <tr>
            <th scope="col">
              <span class="unseen">What</span>
            </th>
            {ids.map((id, index) => (
              <th key={id} scope="col">
                <Link to={instanceAddress(id)}>{names[index]}</Link>
              </th>
            ))}
            <th scope="col">Difference</th>
          </tr>
        </thead>
        <tbody>
          {factsOf(first, second).map(({ what, first: one, second: other, difference }) => (
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
    </section>
  );
}

/** Which actions the two contracts treat differently, and which alike. */
export function ActionComparison({
  names,
  first,
  second,
}: {
  readonly names: Names;
  readonly first: Contract;
  readonly second: Contract;
}) {
  const { differing, allowed, forbidden } = actionsOf(first, second);
  return (
    <section class="card is-top" aria-labelledby="actions">
      <h2 id="actions">Actions</h2>
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
      <p class="hint">An action that is open is left to the caller.</p>
    </section>
  );
}

function Alike({ text, actions }: { readonly text: string; readonly actions: readonly string[] }) {
  return actions.length === 0 ? null : (
    <p>
      <span class="quiet">{text}:</span> {actions.join(', ')}.
    </p>
  );
}
