import { untracked, useComputed, useSignalEffect } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Instance, PastStates } from '#clients/typescript/src/models';
import { lastFleetAddress } from '#pages/fleet/view';
import { instanceApi } from '#pages/instance/api';
import { CourseModel, POINTS } from '#pages/instance/course-model';
import { type LiveModel, useLiveInstance } from '#pages/instance/live-model';
import { Refused } from '#pages/shell/api';
import { useLoaded } from '#pages/shell/loaded';
import { may } from '#pages/shell/session';
import { Announcer } from '#view/instance/announcer';
import { ConnectTab } from '#view/instance/connect';
import { CourseTab } from '#view/instance/course';
import { LiveHead } from '#view/instance/head';
import { HistoryPart } from '#view/instance/history';
import { ObservationPanel } from '#view/instance/observation';
import { SettingsTab } from '#view/instance/settings';
import { StateTab } from '#view/instance/state';
import { KeptTab, TabLinks, tabOf } from '#view/instance/tabs';
import { WhatIfPanel } from '#view/instance/what-if';
import { WhenLoaded } from '#view/parts/notice';
import { here, Link, Page } from '#view/shell/router';

/** Data loaded before the stream starts. */
type Begun = {
  readonly instance: Instance;
  /** Stored states of the present generation, or the reason why there are none. */
  readonly past: PastStates | Refused;
};

/** Live page of one instance: state, course, experiments, history, connection and settings. */
export function InstancePage({ id }: { readonly id: string }) {
  const begun = useLoaded(() => begin(id), id);
  const [saved, setSaved] = useState<Instance | undefined>();
  const loaded = begun.loaded.kind === 'ready' ? begun.loaded.value.instance : undefined;
  return (
    <Page
      title={(saved ?? loaded)?.name ?? 'Instance'}
      actions={<Link to={lastFleetAddress()}>Back to the fleet</Link>}
    >
      <WhenLoaded loading={begun} what="instance">
        {({ instance, past }) => (
          <Followed instance={saved ?? instance} past={past} onSaved={setSaved} />
        )}
      </WhenLoaded>
    </Page>
  );
}

async function begin(id: string): Promise<Begun> {
  const [instance, past] = await Promise.all([
    instanceApi.instance(id),
    // The page works without the past, which an engine of an earlier release cannot answer.
    instanceApi.points(id, POINTS).catch((error: unknown) => {
      if (error instanceof Refused) return error;
      throw error;
    }),
  ]);
  return { instance, past };
}

type FollowedProps = Begun & { readonly onSaved: (instance: Instance) => void };

/** Page content. One stream feeds all tabs, and continues when the tab changes. */
function Followed({ instance, past, onSaved }: FollowedProps) {
  const generation = past instanceof Refused ? undefined : past.generation;
  const live = useLiveInstance(instance.id, generation);
  const [model] = useState(() => new CourseModel(instance.id, past));
  useSignalEffect(() => {
    const view = live.view.value;
    untracked(() => model.take(view));
  });
  useEffect(() => () => model[Symbol.dispose](), []);
  const isDeleted = useComputed(() => live.view.value.isDeleted);
  if (isDeleted.value) return <Deleted />;
  const isWriter = may('instances.write');
  const wanted = tabOf(here.value.query);
  const tab = wanted === 'settings' && !isWriter ? 'state' : wanted;
  return (
    <>
      <Head instance={instance} live={live} />
      <Announcer live={live} />
      <TabLinks id={instance.id} tab={tab} hidden={isWriter ? [] : ['settings']} />
      <KeptTab isShown={tab === 'state'}>
        {() => (
          <StateTab {...{ instance, model }} view={live.view.value} shown={model.shown.value} />
        )}
      </KeptTab>
      <KeptTab isShown={tab === 'course'}>
        {() => <CourseTab {...{ instance, model }} shown={model.shown.value} />}
      </KeptTab>
      <KeptTab isShown={tab === 'try'}>
        {() => <TryTab {...{ instance, live, isWriter }} />}
      </KeptTab>
      <KeptTab isShown={tab === 'history'}>{() => historyOf(instance.id, live)}</KeptTab>
      <KeptTab isShown={tab === 'connect'}>
        {() => <ConnectTab instance={instance} view={live.view.value} />}
      </KeptTab>
      <KeptTab isShown={tab === 'settings'}>
        {() => <SettingsTab {...{ instance, onSaved }} />}
      </KeptTab>
    </>
  );
}

/** Replaces the page of a deleted instance. Takes the focus, unless the navigation has the focus. */
function Deleted() {
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    const focused = document.activeElement;
    const isElsewhere = focused !== document.body && focused?.closest('main') === null;
    if (!isElsewhere) title.current?.focus();
  }, []);
  return (
    <div class="empty">
      <h2 ref={title} tabIndex={-1} class="empty-title">
        This instance was deleted
      </h2>
      <p>
        All its data was deleted. <Link to={lastFleetAddress()}>Back to the fleet</Link>
      </p>
    </div>
  );
}

/** History of the present generation. A new generation begins with an empty list. */
function historyOf(id: string, { view: { value: view } }: LiveModel) {
  return <HistoryPart key={`history ${view.generation}`} id={id} view={view} />;
}

type LiveProps = { readonly instance: Instance; readonly live: LiveModel };

/** Present state above the tabs. Only this part renders at each event, and the shown tab. */
function Head({ instance, live }: LiveProps) {
  return <LiveHead {...{ instance, live }} view={live.view.value} />;
}

function TryTab({ instance: { id }, live, isWriter }: LiveProps & { readonly isWriter: boolean }) {
  return (
    <div class="cards is-wide">
      {isWriter ? (
        <ObservationPanel id={id} />
      ) : (
        <section class="card is-top" aria-labelledby="observe">
          <h2 id="observe">Send an observation</h2>
          <p class="quiet">
            Your role can read instances but not change them. You can try observations on a copy.
          </p>
        </section>
      )}
      <WhatIfPanel id={id} now={live.now} />
    </div>
  );
}
