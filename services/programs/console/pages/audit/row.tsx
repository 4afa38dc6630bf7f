import { useState } from 'preact/hooks';
import type { AuditParty, AuditResult, AuditRow } from '#console/answers';
import { actorText, sentenceOf } from '#pages/audit/words';
import { durationText, inWords } from '#pages/parts/format';
import { KeyIds } from '#view/keys/key-ids';
import { TableHead } from '#view/parts/table-head';
import { CopyButton, TimeText } from '#view/parts/text';

const COLUMNS = 4;

/** Table of audited actions, newest first. Each row expands to its details. */
export function ActionTable({ rows }: { readonly rows: readonly AuditRow[] }) {
  return (
    <table class="rows">
      <caption class="unseen">Actions, newest first</caption>
      <TableHead names={['Time', 'Action', 'Outcome']} unseen="Details" />
      <tbody>
        {rows.map((row) => (
          <Action key={row.id} row={row} />
        ))}
      </tbody>
    </table>
  );
}

const RESULTS: Readonly<Record<AuditResult, readonly [text: string, style: string]>> = {
  done: ['done', 'is-good'],
  repeated: ['repeated', 'is-quiet'],
  refused: ['refused', 'is-warning'],
  failed: ['failed', 'is-warning'],
  running: ['in progress', 'is-quiet'],
  unknown: ['outcome unknown', 'is-warning'],
};

function Action({ row }: { readonly row: AuditRow }) {
  const [isOpen, setOpen] = useState(false);
  const { at, result, code, duration_ms: durationMs } = row;
  const [text, style] = RESULTS[result];
  const more = [code === undefined ? undefined : inWords(code), timeTaken(durationMs)];
  return (
    <>
      <tr class={isOpen ? 'is-open' : ''}>
        <td data-label="Time" class="is-time">
          <TimeText at={at} precision="second" />
        </td>
        <th scope="row">
          <Sentence row={row} />
          <Parties row={row} />
        </th>
        <td data-label="Outcome">
          <span class={`badge ${style}`}>{text}</span>
          <span class="row-more">{more.filter((each) => each !== undefined).join(' · ')}</span>
        </td>
        <td class="row-actions">
          <button
            type="button"
            class="is-small"
            aria-expanded={isOpen}
            aria-label={`Details of ${row.action}, ${row.id}`}
            onClick={() => setOpen(!isOpen)}
          >
            Details
          </button>
        </td>
      </tr>
      {isOpen ? (
        <tr class="details-row">
          <td colSpan={COLUMNS}>
            <Details row={row} />
          </td>
        </tr>
      ) : null}
    </>
  );
}

function timeTaken(durationMs: number | undefined): string | undefined {
  return durationMs === undefined ? undefined : durationText(durationMs);
}

/** The action in words: “Ada revoked the key ci”. */
function Sentence({ row }: { readonly row: AuditRow }) {
  const { actor, target } = row;
  const { verb, isTargeted, end } = sentenceOf(row);
  return (
    <span>
      <Actor of={actor} /> {verb}
      {isTargeted && target !== undefined ? (
        <>
          {' '}
          <strong>{target.name ?? target.id}</strong>
        </>
      ) : null}
      {end}
    </span>
  );
}

function Actor({ of: actor }: { readonly of: AuditRow['actor'] }) {
  const { kind, name } = actor;
  if (name === undefined) return <strong>{actorText(actor)}</strong>;
  const prefix = kind === 'key' ? 'The key ' : kind === 'operator' ? 'The operator ' : '';
  return (
    <>
      {prefix}
      <strong>{name}</strong>
    </>
  );
}

/** Masked values and ids of the keys of an action. Names of keys may repeat. */
function Parties({ row: { actor, target } }: { readonly row: AuditRow }) {
  const keys = [actor, target].filter(
    (party): party is AuditParty => party?.id?.startsWith('key_') === true,
  );
  if (keys.length === 0) return null;
  return (
    <span class="row-more">
      {keys.map(({ id, more }) => (
        <KeyIds key={id} id={id} masked={more} />
      ))}
    </span>
  );
}

function Details({ row }: { readonly row: AuditRow }) {
  const { actor, target, address, request_id: requestId, lines, before, after } = row;
  const facts = [
    ['Actor', partyText(actor) ?? actor.kind],
    ['Session', actor.session],
    ['Address', address],
    ['Target', target && partyText(target)],
    ['Request', requestId],
    [lines.length === 1 ? 'Line' : 'Lines', lines.join(', ')],
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
      {target?.id === undefined ? null : (
        <p class="row-more">
          <CopyButton value={target.id} what="the id of the target" /> id of the target
        </p>
      )}
      <OutcomeNote row={row} />
      {before === undefined && after === undefined ? (
        <p class="quiet">This action changed no recorded values.</p>
      ) : (
        <Changes before={before ?? {}} after={after ?? {}} />
      )}
    </>
  );
}

function partyText({ name, more, id }: AuditParty): string | undefined {
  const texts = [name, more, id].filter((each) => each !== undefined);
  return texts.length === 0 ? undefined : texts.join(' · ');
}

/** Explains the outcome of an action that has only one line. */
function OutcomeNote({ row: { result, lines } }: { readonly row: AuditRow }) {
  if (result === 'unknown') {
    return (
      <p class="quiet">
        The line with the outcome is missing, for example after a crash. The action may have
        happened.
      </p>
    );
  }
  if (result !== 'done' || lines.length > 1) return null;
  return (
    <p class="quiet">
      Writes to instances and webhooks get a second line only if they were refused or repeated.
    </p>
  );
}

type Fields = Readonly<Record<string, unknown>>;

/** Values before and after, one row per field. */
function Changes({ before, after }: { readonly before: Fields; readonly after: Fields }) {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return (
    <table class="rows is-plain is-narrow">
      <TableHead names={['Field', 'Before', 'After']} />
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
