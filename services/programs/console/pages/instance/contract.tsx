import { useMemo } from 'preact/hooks';
import type { Processed as Report } from '#clients/typescript/src/models';
import { manner, type Reasoned, reasonsOf } from '#pages/instance/contract-reasons';

type ContractProps = {
  readonly report: Report | undefined;
  /** Version of the model, which decides how soon a list changes. */
  readonly model: string;
};

/**
 * Contract of the instance: allowed and forbidden actions, each with the rule that allows or
 * forbids the action.
 */
export function ContractCard({ report, model }: ContractProps) {
  return (
    <section class="card" aria-labelledby="contract">
      <h2 id="contract">Contract</h2>
      {report === undefined ? (
        <p class="quiet">Waiting for the state …</p>
      ) : (
        <ContractTable report={report} model={model} />
      )}
    </section>
  );
}

/** Leading modes and actions of a contract, each with the rule that allows or forbids the action. */
export function ContractTable({
  report,
  model,
}: {
  readonly report: Report;
  readonly model: string;
}) {
  const { allowed, forbidden, left } = useMemo(() => reasonsOf(report), [report]);
  const { dominant_modes: dominant, suppressed_modes: suppressed } = report.contract;
  return (
    <>
      <p>
        Leading: <strong>{listOf(dominant)}</strong>. Suppressed:{' '}
        <strong>{listOf(suppressed)}</strong>.
      </p>
      {model === '1.0' ? null : (
        <p class="quiet">
          Model {model} changes a list after three consecutive observations, so a reason can be up
          to two observations ahead of its list.
        </p>
      )}
      <Actions title="Allowed" sign="is-good" of={allowed} />
      <Actions title="Forbidden" sign="is-bad" of={forbidden} />
      <details>
        <summary>Left to you, manner and recovery</summary>
        <Actions title="Left to you" sign="is-quiet" of={left} />
        <Actions title="Manner and recovery" sign="is-quiet" of={manner(report)} />
        <p class="quiet">
          A leading mode has a strength of at least 25 %, and at least 60 % of the strength of the
          strongest mode. A suppressed mode is at least 0.4 standard deviations below its set-point,
          or gets little attention under the current stress.
        </p>
      </details>
    </>
  );
}

function Actions({
  title,
  sign,
  of,
}: {
  readonly title: string;
  readonly sign: string;
  readonly of: readonly Reasoned[];
}) {
  return (
    <div class="actions-part">
      <h3>{title}</h3>
      {of.length === 0 ? (
        <p class="quiet">None.</p>
      ) : (
        <ul class="reasons">
          {of.map(({ action, reason }) => (
            <li key={action}>
              <span class={`badge ${sign}`}>{action}</span> <span>{reason}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function listOf(modes: readonly string[]): string {
  return modes.length === 0 ? 'none' : modes.map((mode) => mode.replace('_', ' ')).join(', ');
}
