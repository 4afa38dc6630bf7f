import { useMemo, useRef, useState } from 'preact/hooks';
import type { Processed as Report } from '#clients/typescript/src/models';
import { instanceApi } from '#pages/instance/api';
import { counted } from '#pages/parts/format';
import { useAction } from '#pages/shell/loaded';
import { LineChart } from '#view/instance/chart';
import { DeviationPart } from '#view/instance/deviation';
import { MODE_CHOICES, type ObservationTexts, observationOf } from '#view/instance/observation';
import { SubmitButton } from '#view/parts/field';
import { RefusalNotice } from '#view/parts/notice';

/** Maximum observations in a simulation. */
const OBSERVATIONS_MAX = 20;

/** State before a simulation, and state after each observation. */
type States = { readonly before: Report | undefined; readonly after: readonly Report[] };

/** A form row with a stable key. */
type Row = { readonly key: number; readonly texts: ObservationTexts };

const FIRST: Row = {
  key: 1,
  texts: { mode_target: 'ASSERTION', signal_strength: '0.9', confidence: '1' },
};

/** Simulates observations on a copy of the instance. The copy is then discarded. */
export function WhatIfPanel({
  id,
  now,
}: {
  readonly id: string;
  /** Returns the present state. The chart starts with this state. */
  readonly now: () => Report | undefined;
}) {
  const [rows, setRows] = useState<readonly Row[]>([FIRST]);
  const [states, setStates] = useState<States | undefined>();
  const { run, isBusy, refusal } = useAction(async () => {
    const before = now();
    const after = await instanceApi.simulate(
      id,
      rows.map(({ texts }) => observationOf(texts)),
    );
    setStates({ before, after });
  });
  const change = (key: number, texts: ObservationTexts) =>
    setRows(rows.map((row) => (row.key === key ? { key, texts } : row)));
  const addButton = useRef<HTMLButtonElement>(null);
  const add = () => {
    if (rows.length >= OBSERVATIONS_MAX) return;
    const last = rows.at(-1) ?? FIRST;
    setRows([...rows, { key: last.key + 1, texts: last.texts }]);
  };
  return (
    <section class="card" aria-labelledby="what-if">
      <h2 id="what-if">What if</h2>
      <p class="quiet">
        Applies up to {OBSERVATIONS_MAX} observations to a copy, one second apart, and discards the
        copy. Costs no cycle.
      </p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          run();
        }}
      >
        <ol class="what-if-rows">
          {rows.map((row, index) => (
            <ObservationRow
              key={row.key}
              {...{ row, number: index + 1, change }}
              onRemove={
                rows.length === 1
                  ? undefined
                  : () => {
                      addButton.current?.focus();
                      setRows(rows.filter(({ key }) => key !== row.key));
                    }
              }
            />
          ))}
        </ol>
        <RefusalNotice refusal={refusal} />
        <p class="button-row">
          <button
            ref={addButton}
            type="button"
            onClick={add}
            aria-disabled={rows.length >= OBSERVATIONS_MAX}
          >
            Add an observation
          </button>
          <SubmitButton isBusy={isBusy}>Try it on a copy</SubmitButton>
        </p>
      </form>
      <div role="status">
        {states === undefined ? null : (
          <p>
            {counted(states.after.length, 'observation')} applied to a copy.{' '}
            <strong>The instance did not change.</strong>
          </p>
        )}
      </div>
      {states === undefined ? null : <Outcome {...states} />}
    </section>
  );
}

function ObservationRow({
  row: { key, texts },
  number,
  change,
  onRemove,
}: {
  readonly row: Row;
  readonly number: number;
  readonly change: (key: number, texts: ObservationTexts) => void;
  readonly onRemove: (() => void) | undefined;
}) {
  const set = (field: keyof ObservationTexts) => (event: Event) =>
    change(key, { ...texts, [field]: (event.target as HTMLInputElement).value });
  return (
    <li>
      <select
        aria-label={`Mode of observation ${number}`}
        value={texts.mode_target ?? ''}
        onChange={set('mode_target')}
      >
        {MODE_CHOICES.map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
      {(['signal_strength', 'confidence'] as const).map((field) => (
        <input
          key={field}
          type="number"
          {...{ min: 0, max: 1, step: 'any', required: true }}
          aria-label={`${field === 'confidence' ? 'Confidence' : 'Signal'} of observation ${number}`}
          value={texts[field] ?? ''}
          onInput={set(field)}
        />
      ))}
      <button
        type="button"
        class="is-small"
        aria-label={`Remove observation ${number}`}
        disabled={onRemove === undefined}
        onClick={onRemove}
      >
        Remove
      </button>
    </li>
  );
}

/** Chart of the simulated states. If a mark is selected, the drift of its step is shown. */
function Outcome({ before, after }: States) {
  const [chosen, setChosen] = useState<number | undefined>();
  const first = before === undefined ? [] : [{ x: 0, at: undefined, report: before }];
  const steps = after.map((report, index) => ({ x: index + 1, at: undefined, report }));
  const points = useMemo(() => [...first, ...steps], [before, after]);
  const marks = steps
    .filter(({ report }) => report.drift.level !== 'D0')
    .map(({ x, report }) => ({ x, level: report.drift.level }));
  const step = chosen ?? after.length;
  const shown = after[step - 1];
  return (
    <>
      <LineChart
        {...{ marks, chosen }}
        points={points}
        unit="Step"
        label="Modes, energy and stability of the copy by step"
        onMark={(x) => setChosen(x === chosen ? undefined : x)}
      />
      {shown === undefined ? null : (
        <DeviationPart
          title={`Drift of the copy at step ${step}`}
          {...{ level: shown.drift.level, deviation: shown.drift.deviation }}
          isRolledBack={shown.drift.level === 'D3'}
        />
      )}
    </>
  );
}
