import { useEffect, useState } from 'preact/hooks';
import type { AccountEvent } from '#clients/typescript/src/models';
import { TRANSITIONS, type TransitionType } from '#identity/transitions';
import { instanceAddress } from '#pages/fleet/view';
import { counted, numberText } from '#pages/parts/format';
import { useAction, useRetry } from '#pages/shell/loaded';
import { EVENT_TYPES, typesIn, typeTitle, USUAL_TYPES } from '#pages/webhooks/event-types';
import { LiveLog, type LogView } from '#pages/webhooks/live-log';
import { changeText } from '#view/fleet/changes';
import { Empty, RefusalNotice, Skeleton } from '#view/parts/notice';
import { StreamSign } from '#view/parts/stream-sign';
import { TableHead } from '#view/parts/table-head';
import { TimeText } from '#view/parts/text';
import { Link, Page } from '#view/shell/router';
import { HookTabs } from '#view/webhooks/page';

/** Log of the events of the account, newest first. The address holds the wanted types. */
export function EventLogPage({ query }: { readonly query: string }) {
  const named = typesIn((new URLSearchParams(query).get('types') ?? '').split(','));
  const types = named.length === 0 ? USUAL_TYPES : named;
  return (
    <Page
      title="Event log"
      lead="What changed in all instances of the account. Events are kept for 7 days."
    >
      <HookTabs present="events" />
      <TypeFilter types={types} />
      {/* If the types change, the new key makes Preact create the log again. */}
      <Log key={types.join()} types={types} />
    </Page>
  );
}

/** Address of the log for some types. The usual types need no query. */
function logAddress(types: readonly TransitionType[]): string {
  const isUsual = types.length === 0 || types.join() === USUAL_TYPES.join();
  return isUsual ? '/webhooks/events' : `/webhooks/events?types=${types.join(',')}`;
}

/** Links that add a type to the log, or remove a type. */
function TypeFilter({ types }: { readonly types: readonly TransitionType[] }) {
  const toggled = (type: TransitionType) =>
    TRANSITIONS.filter((each) => types.includes(each) !== (each === type));
  return (
    <search aria-label="Types of events">
      <ul class="tags">
        {TRANSITIONS.map((type) => {
          const isOn = types.includes(type);
          const [title] = EVENT_TYPES[type];
          return (
            <li key={type}>
              <Link to={logAddress(toggled(type))} class={isOn ? 'tag is-on' : 'tag'}>
                {isOn ? <span aria-hidden="true">✓ </span> : null}
                {title}
                <span class="unseen">{isOn ? ' Hide these events' : ' Show these events'}</span>
              </Link>
            </li>
          );
        })}
        {types.length === 1 || types.join() === USUAL_TYPES.join() ? null : (
          <li>
            <Link to="/webhooks/events">Usual types</Link>
          </li>
        )}
      </ul>
    </search>
  );
}

function Log({ types }: { readonly types: readonly TransitionType[] }) {
  const [log] = useState(() => new LiveLog(types));
  useEffect(() => () => log[Symbol.dispose](), []);
  const state = log.state.value;
  const refusal = state.kind === 'failed' ? state.refusal : undefined;
  useRetry(refusal, () => void log.load(), state.kind === 'ready');
  switch (state.kind) {
    case 'loading':
      return <Skeleton what="events" />;
    case 'failed':
      return (
        <>
          <RefusalNotice refusal={state.refusal} />
          <p>
            <button type="button" onClick={() => void log.load()}>
              Try again
            </button>
          </p>
        </>
      );
    case 'ready':
      return <LogPart log={log} view={state.view} />;
  }
}

function LogPart({ log, view }: { readonly log: LiveLog; readonly view: LogView }) {
  const isPaused = log.isPaused.value;
  const { events, held, isMissing } = view;
  return (
    <section class="hook-part" aria-label="Events">
      <div class="card-head">
        <p class="connection">
          {isPaused ? (
            <span class="badge is-quiet">paused</span>
          ) : (
            <StreamSign status={log.status.value} />
          )}
          <button type="button" class="is-small" onClick={() => log.pause(!isPaused)}>
            {isPaused ? continueText(held.length) : 'Pause'}
          </button>
        </p>
        <p class="quiet" role="status">
          {counted(events.length, 'event')} on this page
        </p>
      </div>
      {isMissing ? (
        <p class="notice is-danger" role="alert">
          Events are missing here: the page was away for longer than the events are kept, or the
          service was restored from a backup. Load the page again, and read the instances that
          matter.
        </p>
      ) : null}
      {events.length === 0 && view.older === undefined ? (
        <Empty title="No event of these types in the last 7 days">
          <p>New events appear here as they happen. The service has no older ones.</p>
        </Empty>
      ) : (
        <EventTable events={events} />
      )}
      <Older log={log} view={view} />
    </section>
  );
}

function continueText(held: number): string {
  return held === 0 ? 'Continue' : `Continue, ${counted(held, 'new event')}`;
}

/** Loads older events. Says where the log ends. */
function Older({ log, view }: { readonly log: LiveLog; readonly view: LogView }) {
  const more = useAction(log.loadOlder);
  if (view.older === undefined) {
    return view.events.length === 0 ? null : (
      <p class="quiet is-end">The page has no older events. The service keeps events for 7 days.</p>
    );
  }
  const isExpired = more.refusal?.reason === 'cursor_expired';
  return (
    <>
      {isExpired ? (
        <p class="notice" role="alert">
          Older events are no longer kept, or the service was restored from a backup. Load the page
          again.
        </p>
      ) : (
        <RefusalNotice refusal={more.refusal} />
      )}
      <p class="is-end">
        <button type="button" onClick={() => more.run()} aria-disabled={more.isBusy}>
          {more.isBusy ? 'Loading …' : 'Load older events'}
        </button>
      </p>
    </>
  );
}

function EventTable({ events }: { readonly events: readonly AccountEvent[] }) {
  return (
    <table class="rows event-log">
      <caption class="unseen">Events of the account, newest first</caption>
      <TableHead names={['Time', 'Event', 'Instance', 'Afterwards']} />
      <tbody>
        {events.map((event) => (
          <tr key={event.id}>
            <td data-label="Time" class="is-time">
              <TimeText at={event.occurred_at} precision="second" />
            </td>
            <th scope="row">
              <span class="row-name">{typeTitle(event.type)}</span>
              {event.from === undefined && event.allowed_actions === undefined ? null : (
                <span class="row-more">{detailText(event)}</span>
              )}
            </th>
            <td data-label="Instance">
              <Link to={instanceAddress(event.instance_id)}>
                <code>{event.instance_id}</code>
              </Link>
            </td>
            <td data-label="Afterwards">{afterText(event)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Details of an event in words. */
function detailText(event: AccountEvent): string {
  if (event.type !== 'contract_changed') return changeText(event);
  const { allowed_actions: allowed, forbidden_actions: forbidden } = event;
  const parts = [
    ['allowed', allowed?.added],
    ['no longer allowed', allowed?.removed],
    ['forbidden', forbidden?.added],
    ['no longer forbidden', forbidden?.removed],
  ] as const;
  return parts
    .filter(([, actions = []]) => actions.length > 0)
    .map(([words, actions = []]) => `${words}: ${actions.join(', ')}`)
    .join('; ');
}

function afterText({ stress_state: stress, drift_level: drift, cycle }: AccountEvent): string {
  const state = stress === undefined || drift === undefined ? [] : [stress, drift];
  return [`cycle ${numberText(cycle)}`, ...state].join(' · ');
}
