import type { InstanceUsage } from '#pages/answers';
import { instanceUsageExport } from '#pages/api';
import { counted, monthText, numberText } from '#pages/format';
import type { Loading } from '#pages/loaded';
import { may } from '#pages/session';
import { instanceAddress } from '#view/instance-table';
import { Link } from '#view/link';
import { Empty, WhenLoaded } from '#view/notice';
import { TimeText } from '#view/time-text';
import { UsageTable } from '#view/usage-table';

/** Which instances used most of the present month. */
export function InstanceUsagePart({ loading }: { readonly loading: Loading<InstanceUsage> }) {
  const { loaded } = loading;
  const month = loaded.kind === 'ready' ? monthText(loaded.value.month) : undefined;
  return (
    <section class="card" aria-labelledby="instances">
      <div class="card-head is-wrapping">
        <h2 id="instances">Cycles by instance{month === undefined ? '' : `, ${month} so far`}</h2>
        {loaded.kind === 'ready' && loaded.value.instances.length > 0 ? (
          <div class="button-row">
            {(['csv', 'json'] as const).map((format) => (
              <a
                key={format}
                class="button"
                href={instanceUsageExport(format)}
                download
                aria-label={`Export ${format.toUpperCase()} of instances`}
              >
                Export {format.toUpperCase()}
              </a>
            ))}
          </div>
        ) : null}
      </div>
      <WhenLoaded loading={loading} what="usage by instance">
        {(value) => <Used used={value} />}
      </WhenLoaded>
    </section>
  );
}

function Used({ used }: { readonly used: InstanceUsage }) {
  const { instances, other_cycles: others, cycles } = used;
  const rest = {
    ...{ id: 'other', name: 'Others', cycles: others },
    note: 'Further instances, deleted ones, cycles before a reset or dated in another month, calls under way',
  };
  const rows = instances.map(({ id, name, ...row }) => {
    const shown = may('instances.read') ? <Link to={instanceAddress(id)}>{name}</Link> : name;
    return { ...row, id, name: shown };
  });
  return (
    <>
      {used.is_complete ? null : <Incomplete used={used} />}
      {instances.length === 0 ? (
        <Empty title={`No instance has observed anything in ${monthText(used.month)}`} />
      ) : (
        <UsageTable
          of="Instance"
          caption={`Cycles by instance in ${monthText(used.month)}`}
          rows={others === 0 ? rows : [...rows, rest]}
          cycles={cycles}
        />
      )}
      <p class="quiet">
        The 20 instances with the most cycles since the month began in UTC, by the time of each
        observation: its own timestamp where it has one, else when it was processed. All else on
        this page goes by when a call was settled. As of{' '}
        <TimeText at={used.as_of} precision="second" />; looked up once a minute at most.
      </p>
    </>
  );
}

/** Why an instance that is not shown may have used more than one that is. */
function Incomplete({ used }: { readonly used: InstanceUsage }) {
  const { instances_listed: listed, instances_total: total } = used;
  return (
    <p class="notice" role="status">
      <strong>This may not be all.</strong>{' '}
      {listed < total
        ? `Of ${counted(total, 'instance')} the ${numberText(listed)} that were created last were looked at.`
        : 'There was no time to look at every instance; those with the most cycles in all came first.'}
    </p>
  );
}
