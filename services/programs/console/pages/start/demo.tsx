import { useState } from 'preact/hooks';
import type { FleetCounts } from '#clients/typescript/src/models';
import type { DemoFleet } from '#console/answers';
import { counted, numberText } from '#pages/parts/format';
import { useAction, useLoaded } from '#pages/shell/loaded';
import { may } from '#pages/shell/session';
import { startApi } from '#pages/start/api';
import { FormDialog } from '#view/parts/dialog';
import { RefusalNotice } from '#view/parts/notice';
import { navigate } from '#view/shell/router';
import { showMessage } from '#view/shell/toasts';

/**
 * Maximum requests of one removal. A request removes up to 500 instances, far more than a
 * demonstration has.
 */
const REMOVALS_MAX = 10;

/**
 * Button that loads the demonstration, with its price. Renders nothing for roles that cannot create
 * instances, and after the demonstration is complete.
 */
export function DemoOffer({ onLoaded }: { readonly onLoaded?: () => void }) {
  const { loaded } = useLoaded(startApi.demo);
  const { run, isBusy, refusal } = useAction(async () => {
    const { agents } = await startApi.loadDemo();
    showMessage(`The demonstration with ${agents} agents is loaded.`);
    onLoaded?.();
    navigate('/fleet');
  });
  if (!may('instances.write') || loaded.kind !== 'ready') return null;
  const { instances, agents } = loaded.value;
  if (instances >= agents) return null;
  return (
    <div class="demo-offer">
      <p>{priceText(loaded.value)}</p>
      <p>
        <button type="button" onClick={() => run()} disabled={isBusy}>
          {isBusy
            ? `Loading ${agents} agents …`
            : instances === 0
              ? 'Load a demonstration'
              : 'Load the rest of the demonstration'}
        </button>
      </p>
      <RefusalNotice refusal={refusal} />
    </div>
  );
}

function priceText({ agents, cycles, instances, tag }: DemoFleet): string {
  const name = `${tag.key}: ${tag.value}`;
  if (instances > 0) {
    return (
      `${instances} of ${agents} agents of the demonstration are loaded. The rest costs 1 request ` +
      'and the remaining cycles.'
    );
  }
  return (
    `See the console with ${agents} agents and one week of past. Loading costs 1 request, ` +
    `${counted(cycles, 'cycle')} of this month and ${agents} instances of the plan. All agents have ` +
    `the tag “${name}”, and you can remove the agents with one click.`
  );
}

/** Notice while the fleet has instances of the demonstration, with a button that removes them. */
export function DemoNotice({
  counts,
  onRemoved,
}: {
  readonly counts: FleetCounts;
  readonly onRemoved: () => void;
}) {
  const [isAsking, setAsking] = useState(false);
  const count = counts.tags.find(isMark)?.count ?? 0;
  const { run, isBusy, refusal } = useAction(async () => {
    await removeAll();
    setAsking(false);
    showMessage('The demonstration is removed.');
    onRemoved();
  });
  if (count === 0) return null;
  const agents = counted(count, 'agent');
  return (
    <div class="notice demo-notice">
      <p>
        This fleet has {agents} of a demonstration, with the tag “{MARK.key}: {MARK.value}”. Their
        past is made up.
      </p>
      {may('instances.write') ? (
        <button type="button" onClick={() => setAsking(true)}>
          Remove the demonstration
        </button>
      ) : null}
      {isAsking ? (
        <FormDialog
          {...{ title: 'Remove the demonstration?', submit: `Remove ${agents}` }}
          {...{ isDangerous: true, isBusy, refusal, onSubmit: () => run() }}
          onClose={() => setAsking(false)}
        >
          <p>
            This deletes {count === 1 ? 'the agent' : `all ${numberText(count)} agents`} with the
            tag “{MARK.key}: {MARK.value}”, with history. Other instances stay. To keep an agent,
            first remove this tag from the agent.
          </p>
        </FormDialog>
      ) : null}
    </div>
  );
}

/** Mark of the instances. The console's routes set the same tag. */
const MARK = { key: 'demo', value: 'sample week' } as const;

const isMark = ({ key, value }: { readonly key: string; readonly value: string }): boolean =>
  key === MARK.key && value === MARK.value;

/** Removes the demonstration, until no instance has the mark. */
async function removeAll(): Promise<void> {
  for (let requests = 0; requests < REMOVALS_MAX; requests += 1) {
    const { instances } = await startApi.removeDemo();
    if (instances === 0) return;
  }
}
