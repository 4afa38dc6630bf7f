import { useComputed } from '@preact/signals';
import type { Instance, Persona } from '#clients/typescript/src/models';
import { lastFleetAddress } from '#pages/fleet/view';
import { instanceApi } from '#pages/instance/api';
import { type LiveModel, useLiveInstance } from '#pages/instance/live-model';
import { modelVersionOf } from '#pages/instance/modes';
import { useLoaded } from '#pages/shell/loaded';
import { may } from '#pages/shell/session';
import { LiveLines } from '#view/instance/chart';
import { ContractCard } from '#view/instance/contract';
import { DangerPart } from '#view/instance/danger';
import { LiveHead, StateRadar } from '#view/instance/head';
import { HistoryPart } from '#view/instance/history';
import { ObservationPanel } from '#view/instance/observation';
import { WhatIfPanel } from '#view/instance/what-if';
import { Empty, WhenLoaded } from '#view/parts/notice';
import { Link, Page } from '#view/shell/router';

/** Data loaded before the stream starts. */
type Begun = {
  readonly instance: Instance;
  readonly personas: readonly Persona[];
  /** Present generation. Undefined if no observation shows the generation. */
  readonly generation: number | undefined;
};

/** Live page of one instance: state, history, and actions. */
export function InstancePage({ id }: { readonly id: string }) {
  const begun = useLoaded(() => begin(id), id);
  const name = begun.loaded.kind === 'ready' ? begun.loaded.value.instance.name : undefined;
  return (
    <Page
      title={name ?? 'Instance'}
      actions={<Link to={lastFleetAddress()}>Back to the fleet</Link>}
    >
      <WhenLoaded loading={begun} what="instance">
        {(value) => <Followed begun={value} />}
      </WhenLoaded>
    </Page>
  );
}

async function begin(id: string): Promise<Begun> {
  const newest = { offset: 0, limit: 1, generation: 'all' } as const;
  const [instance, personas, history] = await Promise.all([
    instanceApi.instance(id),
    instanceApi.personas(),
    instanceApi.history(id, newest),
  ]);
  // If the cycles differ, a reset followed the newest observation. The history does not show the
  // new generation before its first observation.
  const [row] = history.data;
  const generation = row?.cycle === instance.cycle_count ? row.generation : undefined;
  return { instance, personas, generation };
}

/** Page content. A stream event renders only the parts that depend on the stream. */
function Followed({ begun: { instance, personas, generation } }: { readonly begun: Begun }) {
  const live = useLiveInstance(instance.id);
  const isDeleted = useComputed(() => live.view.value.isDeleted);
  if (isDeleted.value) {
    return (
      <Empty title="This instance was deleted">
        <p>
          All its data was deleted. <Link to={lastFleetAddress()}>Back to the fleet</Link>
        </p>
      </Empty>
    );
  }
  return (
    <>
      <Now {...{ instance, personas, live }} begunWith={generation} />
      <div class="cards is-wide">
        <ObservationPanel id={instance.id} maySend={may('instances.write')} />
        <WhatIfPanel id={instance.id} now={live.now} />
      </div>
      <LiveHistory {...{ instance, live }} begunWith={generation} />
      {may('instances.write') ? <DangerPart instance={instance} /> : null}
    </>
  );
}

type LiveProps = {
  readonly instance: Instance;
  readonly live: LiveModel;
  readonly begunWith: number | undefined;
};

/** Present state and live chart. */
function Now({
  instance,
  personas,
  live,
  begunWith,
}: LiveProps & { readonly personas: readonly Persona[] }) {
  const view = live.view.value;
  return (
    <>
      <LiveHead {...{ instance, live, view }} generation={view.generation ?? begunWith} />
      <div class="cards is-wide">
        <StateRadar view={view} personas={personas} />
        <ContractCard report={view.now} model={modelVersionOf(instance)} />
      </div>
      <LiveLines view={view} />
    </>
  );
}

/** History of the present generation. A new generation remounts the component. */
function LiveHistory({ instance: { id }, live, begunWith }: LiveProps) {
  const view = live.view.value;
  return <HistoryPart key={`history ${view.generation ?? begunWith}`} id={id} view={view} />;
}
