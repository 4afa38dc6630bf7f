import { useState } from 'preact/hooks';
import type { AuditLine } from '#pages/answers';
import { inWords } from '#pages/format';
import { TimeText } from '#view/time-text';

const COLUMNS = 6;

/** Lines of the audit trail, each of which opens to all that it says. */
export function AuditTable({ lines }: { readonly lines: readonly AuditLine[] }) {
  return (
    <table class="rows">
      <caption class="unseen">Lines of the audit trail, newest first</caption>
      <thead>
        <tr>
          <th scope="col">Time</th>
          <th scope="col">Action</th>
          <th scope="col">Target</th>
          <th scope="col">Actor</th>
          <th scope="col">Outcome</th>
          <th scope="col">
            <span class="unseen">Details</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {lines.map((line) => (
          <Line key={`${line.month} ${line.seq}`} line={line} />
        ))}
      </tbody>
    </table>
  );
}

function Line({ line }: { readonly line: AuditLine }) {
  const [isOpen, setOpen] = useState(false);
  const { at, action, target, actor, address, outcome } = line;
  return (
    <>
      <tr class={isOpen ? 'is-open' : ''}>
        <td data-label="Time" class="is-time">
          <TimeText at={at} precision="second" />
        </td>
        <th scope="row">
          <code>{action}</code>
        </th>
        <td data-label="Target" class="is-id">
          {target ?? <span class="quiet">–</span>}
        </td>
        <td data-label="Actor">
          <span class="is-id">{actor.id ?? actor.kind}</span>
          <span class="row-more">
            {[actor.id === undefined ? undefined : actor.kind, address]
              .filter((each) => each !== undefined)
              .join(' · ')}
          </span>
        </td>
        <td data-label="Outcome">
          <span class={`badge ${outcomeClass(outcome)}`}>{inWords(outcome)}</span>
        </td>
        <td class="row-actions">
          <button
            type="button"
            class="is-small"
            aria-expanded={isOpen}
            aria-label={`Details of line ${line.seq}, ${action}`}
            onClick={() => setOpen(!isOpen)}
          >
            Details
          </button>
        </td>
      </tr>
      {isOpen ? (
        <tr class="details-row">
          <td colSpan={COLUMNS}>
            <Details line={line} />
          </td>
        </tr>
      ) : null}
    </>
  );
}

function Details({ line }: { readonly line: AuditLine }) {
  const { month, seq, actor, request_id: requestId, of, before, after } = line;
  const facts = [
    ['Line', `${month}, ${seq}`],
    ['Ends line', of],
    ['Request', requestId],
    ['Session', actor.session],
    ['Name', actor.name],
  ].filter((fact): fact is [string, string] => fact[1] !== undefined);
  return (
    <>
      <dl class="facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {before === undefined && after === undefined ? (
        <p class="quiet">It changed no values.</p>
      ) : (
        <Changes before={before ?? {}} after={after ?? {}} />
      )}
    </>
  );
}

type Fields = Readonly<Record<string, unknown>>;

/** Before and after, a row for each field that one of them has. */
function Changes({ before, after }: { readonly before: Fields; readonly after: Fields }) {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return (
    <table class="rows is-plain is-narrow">
      <thead>
        <tr>
          <th scope="col">Field</th>
          <th scope="col">Before</th>
          <th scope="col">After</th>
        </tr>
      </thead>
      <tbody>
        {names.map((name) => (
          <tr key={name}>
            <th scope="row">{inWords(name)}</th>
            <td data-label="Before">{textOf(before[name])}</td>
            <td data-label="After">{textOf(after[name])}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function textOf(value: unknown): string {
  if (value === undefined) return '–';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function outcomeClass(outcome: string): string {
  switch (outcome) {
    case 'done':
      return 'is-good';
    case 'begun':
    case 'repeated':
      return 'is-quiet';
    default:
      return 'is-warning';
  }
}
