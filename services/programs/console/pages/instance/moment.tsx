import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { ForkedInstance, Instance } from '#clients/typescript/src/models';
import { contractPrompt } from '#identity/contract-prompt';
import { actionsOf, factsOf, furthestText, type Side } from '#pages/fleet/comparison';
import { instanceAddress } from '#pages/fleet/view';
import { instanceApi } from '#pages/instance/api';
import type { CourseModel, Moment, Shown } from '#pages/instance/course-model';
import type { ChartPoint } from '#pages/instance/lines';
import { levelText, numberText } from '#pages/parts/format';
import { useIdempotencyKeys } from '#pages/shell/idempotency-key';
import { useAction } from '#pages/shell/loaded';
import { may } from '#pages/shell/session';
import { ActionTable, FactTable } from '#view/fleet/compare';
import { ContractTable } from '#view/instance/contract';
import { focusChart } from '#view/instance/course-chart';
import { DeviationPart } from '#view/instance/deviation';
import { FormDialog } from '#view/parts/dialog';
import { TextField } from '#view/parts/field';
import { DriftBadge, StressBadge } from '#view/parts/levels';
import { Skeleton } from '#view/parts/notice';
import { CopyButton, TimeText } from '#view/parts/text';
import { Link } from '#view/shell/router';

type MomentProps = {
  readonly instance: Instance;
  readonly model: CourseModel;
  readonly shown: Shown;
  readonly modelVersion: string;
};

/** The selected state: contract, prompt and drift, with a fork and comparisons. */
export function MomentPart({ instance, model, shown, modelVersion }: MomentProps) {
  const { course, selected, isLoading } = shown;
  if (selected === undefined) return null;
  const point = course.pointAt(selected);
  const title = `Cycle ${numberText(selected)}`;
  return (
    <section class="card" aria-labelledby="moment">
      <div class="card-head">
        <h2 id="moment">{title}</h2>
        <button
          type="button"
          class="is-small"
          onClick={() => {
            focusChart();
            void model.select(undefined);
          }}
        >
          Close
        </button>
      </div>
      {point === undefined ? (
        isLoading ? (
          <Skeleton what={`the state after cycle ${numberText(selected)}`} />
        ) : (
          <p>The state after this cycle was not loaded.</p>
        )
      ) : (
        <Known key={selected} {...{ instance, model, shown, modelVersion, point }} />
      )}
    </section>
  );
}

function Known({
  instance,
  model,
  shown,
  modelVersion,
  point,
}: MomentProps & { readonly point: ChartPoint }) {
  const { x, at, report } = point;
  const { course } = shown;
  const observation = course.observationAt(x);
  const prompt = contractPrompt(report.contract);
  const { deviation, level } = report.drift;
  return (
    <>
      <p>
        {at === undefined ? null : (
          <>
            <TimeText at={at} precision="second" />,{' '}
          </>
        )}
        stress <StressBadge value={report.snapshot.stress_state} />, drift{' '}
        <DriftBadge value={level} isInWords />, energy {levelText(report.snapshot.energy_level)},
        stability {levelText(report.snapshot.stability_index)}.
        {observation === undefined
          ? ''
          : ` After ${observation.mode_target.replace('_', ' ').toLowerCase()}, signal ` +
            `${levelText(observation.signal_strength)}, confidence ` +
            `${levelText(observation.confidence)}.`}
      </p>
      <Acts {...{ instance, model, shown }} cycle={x} />
      <div class="cards is-wide">
        <div class="moment-part">
          <h3>Contract</h3>
          <ContractTable report={report} model={modelVersion} />
        </div>
        <div class="moment-part">
          <h3>
            Prompt <CopyButton value={prompt} what={`the prompt of cycle ${x}`} />
          </h3>
          <pre>{prompt}</pre>
        </div>
      </div>
      <DeviationPart
        {...{ level, deviation }}
        title={`Drift at cycle ${numberText(x)}`}
        isRolledBack={course.driftAt(x)?.rolled_back ?? level === 'D3'}
      />
    </>
  );
}

type ActsProps = {
  readonly instance: Instance;
  readonly model: CourseModel;
  readonly shown: Shown;
  readonly cycle: number;
};

/** Fork and comparisons of the selected state. */
function Acts({ instance, model, shown, cycle }: ActsProps) {
  const [isForking, setForking] = useState(false);
  const [forked, setForked] = useState<ForkedInstance | undefined>();
  const [other, setOther] = useState<Moment | 'now' | undefined>();
  const { course, pinned } = shown;
  const { generation } = course;
  const isPinned = pinned?.generation === generation && pinned.cycle === cycle;
  return (
    <>
      <div class="button-row">
        {may('instances.write') ? (
          <button type="button" onClick={() => setForking(true)}>
            Fork from here …
          </button>
        ) : null}
        <button
          type="button"
          class="is-toggle"
          aria-pressed={other === 'now'}
          onClick={() => setOther(other === 'now' ? undefined : 'now')}
        >
          Compare with now
        </button>
        <button
          type="button"
          class="is-toggle"
          aria-pressed={isPinned}
          onClick={() => model.pin(isPinned ? undefined : { generation, cycle })}
        >
          Keep for a comparison
        </button>
        {pinned === undefined || isPinned ? null : (
          <button
            type="button"
            class="is-toggle"
            aria-pressed={other !== undefined && other !== 'now'}
            onClick={() => setOther(other === undefined || other === 'now' ? pinned : undefined)}
          >
            Compare with {momentText(pinned, generation)}
          </button>
        )}
      </div>
      <div role="status">{forked === undefined ? null : <Forked of={forked} cycle={cycle} />}</div>
      {other === undefined ? null : <Comparison {...{ instance, model, shown, cycle, other }} />}
      {isForking ? (
        <ForkDialog
          {...{ instance, generation, cycle }}
          onClose={() => setForking(false)}
          onForked={setForked}
        />
      ) : null}
    </>
  );
}

function momentText({ generation, cycle }: Moment, shown: number): string {
  const text = `cycle ${numberText(cycle)}`;
  return generation === shown ? text : `${text} of generation ${generation}`;
}

function Forked({ of, cycle }: { readonly of: ForkedInstance; readonly cycle: number }) {
  const link = useRef<HTMLSpanElement>(null);
  useEffect(() => link.current?.querySelector('a')?.focus(), []);
  return (
    <p class="notice is-good">
      Created an instance in the state after cycle {numberText(cycle)}:{' '}
      <span ref={link}>
        <Link to={instanceAddress(of.id)}>Open {of.name}</Link>
      </span>
    </p>
  );
}

function ForkDialog({
  instance,
  generation,
  cycle,
  onClose,
  onForked,
}: Pick<ActsProps, 'instance' | 'cycle'> & {
  readonly generation: number;
  readonly onClose: () => void;
  readonly onForked: (forked: ForkedInstance) => void;
}) {
  const { keyFor, done } = useIdempotencyKeys();
  const { run, isBusy, refusal } = useAction(async (name: string) => {
    const wanted = { name, cycle, generation };
    const forked = await instanceApi.fork(instance.id, wanted, keyFor(wanted));
    done();
    onClose();
    onForked(forked);
  });
  const fields = ['name'];
  return (
    <FormDialog
      {...{ submit: 'Fork', onClose, isBusy, refusal, fields }}
      title={`Fork from cycle ${numberText(cycle)}`}
      onSubmit={({ name = '' }) => run(name)}
    >
      <p class="quiet">
        Creates a new instance in this state, with the same tags and an own history. {instance.name}{' '}
        does not change. The fork counts as an instance of the plan.
      </p>
      <TextField
        {...{ name: 'name', label: 'Name of the new instance', refusal, maxLength: 100 }}
        value={`${instance.name}, from cycle ${cycle}`.slice(-100)}
        hasFocus
      />
    </FormDialog>
  );
}

/** Comparison of the selected state with now, or with another state. */
function Comparison({
  instance,
  model,
  shown,
  cycle,
  other,
}: ActsProps & { readonly other: Moment | 'now' }) {
  const id = useId();
  const { course, present } = shown;
  const own = course.pointAt(cycle);
  const newest = model.courseOf(present ?? course.generation).points.at(-1);
  const point = other === 'now' ? newest : model.courseOf(other.generation).pointAt(other.cycle);
  if (own === undefined || point === undefined) {
    return <p class="quiet">The other state is not known any more.</p>;
  }
  const names = [
    momentText({ generation: course.generation, cycle }, course.generation),
    other === 'now' ? 'now' : momentText(other, course.generation),
  ] as const;
  const [first, second] = [own, point].map((each): Side => sideOf(instance, each)) as [Side, Side];
  return (
    <section class="moment-part" aria-labelledby={id}>
      <h3 id={id}>
        Comparison of {names[0]} and {names[1]}
      </h3>
      <p>{furthestText(first, second)} Differences are second minus first.</p>
      <div class="compared-parts">
        <FactTable
          heads={names}
          names={names}
          facts={factsOf(first, second).filter(({ what }) => what !== 'Created')}
        />
        <ActionTable names={names} difference={actionsOf(first.contract, second.contract)} />
      </div>
    </section>
  );
}

function sideOf(instance: Instance, { report }: ChartPoint): Side {
  const { snapshot, contract, drift } = report;
  return { instance, snapshot, contract, drift: drift.level };
}
