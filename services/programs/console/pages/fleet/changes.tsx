import type { AccountEvent } from '#clients/typescript/src/models';
import { instanceAddress } from '#pages/fleet/view';
import { inWords } from '#pages/parts/format';
import type { StreamStatus } from '#pages/shell/live-stream';
import { StreamSign } from '#view/parts/stream-sign';
import { TimeText } from '#view/parts/text';
import { Link } from '#view/shell/router';

/** Newest events of all instances, newest first. */
export function ChangesPart({
  events,
  status,
  nameOf,
}: {
  readonly events: readonly AccountEvent[];
  readonly status: StreamStatus;
  /** Name of an instance. Undefined if the page does not know the name. */
  readonly nameOf: (id: string) => string | undefined;
}) {
  return (
    <section class="card fleet-group" aria-labelledby="changes">
      <div class="card-head">
        <h2 id="changes">Changes</h2>
        <StreamSign status={status} />
      </div>
      {events.length === 0 ? (
        <p class="quiet">No change in the last seven days.</p>
      ) : (
        <ul class="changes">
          {events.map((event) => (
            <li key={event.id}>
              <Link to={instanceAddress(event.instance_id)}>
                {nameOf(event.instance_id) ?? <code>{event.instance_id}</code>}
              </Link>
              <span class="quiet">
                <TimeText at={event.occurred_at} precision="clock" />
              </span>
              <span>{changeText(event)}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** An event in words. */
export function changeText({ type, from, to }: AccountEvent): string {
  switch (type) {
    case 'stress_changed':
      return `stress ${from} → ${to}`;
    case 'drift_changed':
      return `drift ${from} → ${to}`;
    case 'mode_changed':
      return `leads with ${to}, before with ${from}`;
    case 'rolled_back':
      return 'was rolled back to the last stable state';
    case 'contract_changed':
      return 'may do other actions';
    case 'created':
    case 'renamed':
    case 'reset':
    case 'deleted':
      return `was ${type}`;
    default:
      return inWords(type);
  }
}
