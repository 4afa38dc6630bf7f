import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { FleetCounts } from '#clients/typescript/src/models';
import type { DemoFleet } from '#console/answers';
import { isOfRebuilding, REBUILDING_MS } from '#pages/fleet/api';
import { counted, numberText } from '#pages/parts/format';
import { useAction, useLoaded } from '#pages/shell/loaded';
import { may } from '#pages/shell/session';
import { startApi } from '#pages/start/api';
import { FormDialog } from '#view/parts/dialog';
import { RefusalNotice } from '#view/parts/notice';
import { Link, navigate } from '#view/shell/router';
import { showMessage } from '#view/shell/toasts';

/**
 * Card that offers the demonstration. The card has the same height in all states, so that nothing
 * below moves. Renders nothing for roles that cannot create instances.
 */
export function DemoCard() {
  if (!may('instances.write')) return null;
  return (
    <section class="card is-top demo-card" aria-labelledby="demo">
      <h2 id="demo">Demonstration</h2>
      <DemoOffer>
        <p>
          The demonstration is loaded. Its notice in the <Link to="/fleet">fleet</Link> removes the
          agents.
        </p>
      </DemoOffer>
    </section>
  );
}

/**
 * Button that loads the demonstration, with its price. Shows `children` if the demonstration is
 * complete. Renders nothing for roles that cannot create instances, and while loading.
 */
export function DemoOffer({
  onLoaded,
  children = null,
}: {
  readonly onLoaded?: () => void;
  readonly children?: ComponentChildren;
}) {
  const standing = useStanding();
  const { run, isBusy, refusal } = useAction(async () => {
    try {
      const { agents } = await startApi.loadDemo();
      showMessage(`The demonstration with ${agents} agents is loaded.`);
    } catch (error) {
      // An interrupted load has created some agents, so the rest has another price.
      await standing.reload();
      throw error;
    }
    onLoaded?.();
    navigate('/fleet');
  });
  const { loaded } = standing;
  if (!may('instances.write') || loaded.kind !== 'ready') return null;
  const { instances, agents } = loaded.value;
  if (instances >= agents) return <>{children}</>;
  const text = instances === 0 ? 'Load a demonstration' : 'Load the rest of the demonstration';
  return (
    <div class="demo-offer">
      <p>{priceText(loaded.value)}</p>
      <p>
        <button type="button" onClick={() => run()} aria-disabled={isBusy}>
          {isBusy ? `Loading ${agents} agents …` : text}
        </button>
      </p>
      <RefusalNotice refusal={refusal} />
    </div>
  );
}

/** State of the demonstration. Asks again while the service builds its index. */
function useStanding() {
  const standing = useLoaded(startApi.demo);
  const { loaded, reload } = standing;
  useEffect(() => {
    if (loaded.kind !== 'failed' || !isOfRebuilding(loaded.refusal)) return undefined;
    const timer = setTimeout(() => void reload(), REBUILDING_MS);
    return () => clearTimeout(timer);
  }, [loaded]);
  return standing;
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
  // Forks of the agents have the tag too, so the service counts the agents.
  const marked = counts.tags.find(isMark)?.count ?? 0;
  const { loaded, reload } = useLoaded(standingOf(marked), String(marked));
  const count = loaded.kind === 'ready' ? loaded.value : 0;
  const { run, isBusy, refusal } = useAction(async () => {
    await startApi.removeDemo();
    setAsking(false);
    showMessage('The demonstration is removed.');
    onRemoved();
    await reload();
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
            This deletes {count === 1 ? 'the agent' : `all ${numberText(count)} agents`} of the
            demonstration, with history. Other instances stay, also forks. To keep an agent, first
            remove the tag “{MARK.key}: {MARK.value}” from the agent.
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

/** Loads the number of agents, if an instance has the mark. */
const standingOf = (marked: number) => async (): Promise<number> =>
  marked === 0 ? 0 : (await startApi.demo()).instances;
