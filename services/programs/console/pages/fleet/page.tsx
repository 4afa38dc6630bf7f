import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { AccountEvent, ListedInstance } from '#clients/typescript/src/models';
import { LiveFleet } from '#pages/fleet/live-fleet';
import { type FleetList, useFleetRows } from '#pages/fleet/use-rows';
import { type FleetView, fleetAddress, isFiltered, rememberView, viewOf } from '#pages/fleet/view';
import { counted, numberText } from '#pages/parts/format';
import { useRetry } from '#pages/shell/loaded';
import { may } from '#pages/shell/session';
import { BulkBar } from '#view/fleet/bulk';
import { ChangesPart } from '#view/fleet/changes';
import { CountsPart, TagsPart } from '#view/fleet/counts';
import { FleetFilters } from '#view/fleet/filters';
import { COURSE_ROWS, FleetTable, type Selected } from '#view/fleet/table';
import { Empty, RefusalNotice, Skeleton } from '#view/parts/notice';
import { Link, Page } from '#view/shell/router';
import { DemoNotice, DemoOffer } from '#view/start/demo';

/** All instances of the account: counts, newest changes, and a table with filters. */
export function FleetPage({ query }: { readonly query: string }) {
  const view = viewOf(query);
  const [open, setOpen] = useState<string | undefined>();
  const [selected, setSelected] = useState<Selected>(new Map());
  const fleet = useFleetRows(view, open === undefined ? 0 : COURSE_ROWS);
  const live = useLiveFleet((events) => {
    fleet.apply(events);
    setNewer((count) => count + events.filter(({ type }) => type !== 'mode_changed').length);
  });
  const [newer, setNewer] = useState(0);
  const refresh = (): void => {
    setNewer(0);
    fleet.reload();
  };
  const onChanged = (): void => {
    refresh();
    void live.count();
  };
  useEffect(() => {
    setNewer(0);
    rememberView(view);
  }, [query]);
  return (
    <Page
      title="Fleet"
      lead="All instances of the account. Observations change their states."
      actions={
        may('instances.write') ? (
          <Link to="/instances/new" class="button is-main">
            Create an instance
          </Link>
        ) : undefined
      }
    >
      <Overview {...{ live, view, fleet, onChanged }} />
      <AfterCounts live={live}>
        <section class="fleet-list" aria-labelledby="list">
          <div class="card-head">
            <h2 id="list">Instances</h2>
            <p class="quiet" role="status">
              {totalText(fleet, view)}
            </p>
            {newer === 0 ? null : (
              <button type="button" class="is-small" onClick={refresh}>
                Load again, {counted(newer, 'change')}
              </button>
            )}
          </div>
          <FleetFilters view={view} />
          <List
            {...{ fleet, view, selected, open, onChanged }}
            onSelect={setSelected}
            onOpen={setOpen}
          />
        </section>
      </AfterCounts>
      <BulkBar
        {...{ selected, view, total: fleet.total ?? 0, isWriter: may('instances.write') }}
        onSelect={setSelected}
        onClear={() => setSelected(new Map())}
        onDone={() => {
          setSelected(new Map());
          onChanged();
        }}
      />
    </Page>
  );
}

/** Shows the list below the counts only after the counts, so that the list never moves. */
function AfterCounts({
  live,
  children,
}: {
  readonly live: LiveFleet;
  readonly children: ComponentChildren;
}) {
  return live.state.value.kind === 'loading' ? null : children;
}

/** Follows the fleet while the page is open. */
function useLiveFleet(onEvents: (events: readonly AccountEvent[]) => void): LiveFleet {
  const newest = useRef(onEvents);
  newest.current = onEvents;
  const [live] = useState(() => new LiveFleet((events) => newest.current(events)));
  useEffect(() => () => live[Symbol.dispose](), []);
  return live;
}

/** Counts and newest changes. */
function Overview({
  live,
  view,
  fleet,
  onChanged,
}: {
  readonly live: LiveFleet;
  readonly view: FleetView;
  readonly fleet: FleetList;
  readonly onChanged: () => void;
}) {
  const state = live.state.value;
  const refusal = state.kind === 'failed' ? state.refusal : undefined;
  useRetry(refusal, () => void live.count(), state.kind === 'ready');
  switch (state.kind) {
    case 'loading':
      return (
        <div class="fleet-wait is-top">
          <Skeleton what="counts" />
        </div>
      );
    case 'rebuilding':
      return (
        <div class="fleet-wait is-top">
          <p class="notice" role="status">
            The service builds the index of the account. Counts and filters follow in a few seconds.
          </p>
        </div>
      );
    case 'failed':
      return (
        <>
          <RefusalNotice refusal={state.refusal} />
          <p>
            <button type="button" onClick={() => void live.count()}>
              Try again
            </button>
          </p>
        </>
      );
    case 'ready': {
      const { counts, events } = state.live;
      const nameOf = (id: string) =>
        fleet.loaded().find((row) => row.id === id)?.name ?? live.names.value.get(id);
      return (
        <>
          <DemoNotice counts={counts} onRemoved={onChanged} />
          <div class="fleet-top">
            <CountsPart {...{ counts, view }} />
            <ChangesPart {...{ events, nameOf, status: live.status.value }} />
          </div>
          <TagsPart {...{ counts, view }} />
        </>
      );
    }
  }
}

function totalText({ total }: FleetList, view: FleetView): string {
  if (total === undefined) return '';
  return isFiltered(view) ? `${numberText(total)} selected` : counted(total, 'instance');
}

function List({
  fleet,
  view,
  selected,
  open,
  onSelect,
  onOpen,
  onChanged,
}: {
  readonly onChanged: () => void;
  readonly fleet: FleetList;
  readonly view: FleetView;
  readonly selected: Selected;
  readonly open: string | undefined;
  readonly onSelect: (selected: ReadonlyMap<string, ListedInstance>) => void;
  readonly onOpen: (id: string | undefined) => void;
}) {
  const { total, refusal, isRebuilding, reload } = fleet;
  if (isRebuilding) {
    return <p class="quiet">The service builds its index. The rows follow in a few seconds.</p>;
  }
  if (refusal !== undefined && total === undefined) {
    return (
      <>
        <RefusalNotice refusal={refusal} />
        <p>
          <button type="button" onClick={reload}>
            Try again
          </button>
        </p>
      </>
    );
  }
  if (total === undefined) {
    return (
      <div class="fleet-wait">
        <Skeleton what="instances" />
      </div>
    );
  }
  if (total === 0) return <NoRows view={view} onChanged={onChanged} />;
  return (
    <>
      <FleetTable {...{ fleet, selected, open, onSelect, onOpen }} />
      <RefusalNotice refusal={refusal} />
    </>
  );
}

function NoRows({ view, onChanged }: { readonly view: FleetView; readonly onChanged: () => void }) {
  if (isFiltered(view)) {
    return (
      <Empty title="No instance matches">
        <p>
          A search finds a part of the name, or at least six digits of the id.{' '}
          <Link to={fleetAddress({ ...viewOf(''), order: view.order })}>Show all instances</Link>
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="There are no instances yet">
      {may('instances.write') ? (
        <>
          <p>
            <Link to="/instances/new">Create an instance</Link> from a persona or the personality
            test, or send requests to the API.
          </p>
          <DemoOffer onLoaded={onChanged} />
        </>
      ) : (
        <p>Owners and developers of the account can create instances.</p>
      )}
    </Empty>
  );
}
