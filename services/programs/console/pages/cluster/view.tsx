import { useEffect, useState } from 'preact/hooks';
import { type Alert, alertsOf, durationText, type Level, servedText } from '#pages/cluster/alerts';
import type { ClusterReport, Known, LoadReport, ServiceReport } from '#pages/cluster/answers';
import { feed, IDLE_TOO_LONG, isPaused, isTokenForgotten, lock } from '#pages/cluster/feed';
import type { Refused } from '#pages/shell/api';
import { LoadTable } from '#view/cluster/load';
import { RunbookEntry } from '#view/cluster/runbook';
import { ServicePart } from '#view/cluster/service';
import { sentence } from '#view/parts/notice';
import { TimeText } from '#view/parts/text';
import { Page } from '#view/shell/router';

type Failing = { readonly refusal: Refused; readonly sinceMs: number };

/** Cluster view: alerts with their runbook entries, then each service. */
export function ClusterView({
  report,
  failing,
}: {
  readonly report: ClusterReport;
  readonly failing: Failing | undefined;
}) {
  return (
    <main class="cluster" id="main">
      <Page title="Cluster" lead={<Lead report={report} />} actions={<Actions />}>
        {failing === undefined ? null : <FailingNotice failing={failing} />}
        {report.kind === 'alone' ? (
          <AlonePart report={report} />
        ) : (
          <>
            <Verdict alerts={alertsOf(report)} report={report} />
            <Service name="engine" known={report.engine} />
            <Service name="limiter" known={report.limiter} />
          </>
        )}
      </Page>
    </main>
  );
}

function Lead({ report }: { readonly report: ClusterReport }) {
  return (
    <>
      {isPaused.value ? 'Paused. Report of ' : 'Report of '}
      <TimeText at={report.at} precision="second" />, from a process of release {report.release}.
    </>
  );
}

function Actions() {
  return (
    <div class="button-row">
      <button
        type="button"
        aria-pressed={isPaused.value}
        onClick={() => {
          isPaused.value = !isPaused.value;
        }}
      >
        {isPaused.value ? 'Continue' : 'Pause'}
      </button>
      <button type="button" onClick={lock}>
        Forget the token
      </button>
    </div>
  );
}

function FailingNotice({ failing: { refusal, sinceMs } }: { readonly failing: Failing }) {
  const [nowMs, setNowMs] = useState(performance.now());
  useEffect(() => {
    const timer = setInterval(() => setNowMs(performance.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  return (
    <div class="notice is-danger" role="alert">
      <p>
        <strong>This report is out of date.</strong> {sentence(refusal.message)}
      </p>
      <p>
        {nextText(refusal, Math.max(0, nowMs - sinceMs) / 1_000)} Any limiter’s admin port shows the
        same cluster.
      </p>
      {isTokenForgotten(feed.value) ? (
        <button type="button" onClick={lock}>
          Enter the token again
        </button>
      ) : null}
    </div>
  );
}

function nextText({ code }: Refused, seconds: number): string {
  if (code === IDLE_TOO_LONG.code) {
    return 'This page has deleted the token, because another program may use this port now.';
  }
  const next = isTokenForgotten(feed.value)
    ? 'this page has deleted the token, because another program may take this port.'
    : 'the page keeps trying.';
  return `No answer for ${durationText(seconds)}; ${next}`;
}

/**
 * Headlines by severity of the worst alert. Without critical alerts and warnings, the headline
 * shows how many shards are served.
 */
const VERDICTS: Partial<Record<Level, string>> = {
  critical: 'Callers are affected, or may be soon',
  warning: 'Something needs attention',
};

/** Headline and list of alerts. */
function Verdict({
  alerts,
  report,
}: {
  readonly alerts: readonly Alert[];
  readonly report: Extract<ClusterReport, { kind: 'cluster' }>;
}) {
  const worst = alerts[0]?.level;
  return (
    <section class={`card verdict is-${worst ?? 'well'}`} aria-labelledby="verdict">
      <h2 id="verdict" aria-live="polite">
        {(worst && VERDICTS[worst]) ?? servedText(report)}
      </h2>
      {alerts.length === 0 ? (
        <p class="quiet">
          {summaryOf('engine', report.engine)} {summaryOf('limiter', report.limiter)}
        </p>
      ) : (
        <ul class="alerts">
          {alerts.map((alert) => (
            <li key={`${alert.entry} ${alert.text.replaceAll(/[\d.,]+/g, '#')}`}>
              <span class={`badge is-${alert.level}`}>{alert.level}</span>
              <div>
                <p>{alert.text}</p>
                {alert.entry === undefined ? null : <RunbookEntry name={alert.entry} />}
              </div>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function summaryOf(name: string, known: Known<ServiceReport>): string {
  if ('not_known' in known) return '';
  const { nodes, shard_count } = known.value;
  const plural = nodes.length === 1 ? `${name} serves` : `${name}s serve`;
  return `${nodes.length} ${plural} ${shard_count} shards.`;
}

function Service({
  name,
  known,
}: {
  readonly name: 'engine' | 'limiter';
  readonly known: Known<ServiceReport>;
}) {
  const title = name === 'engine' ? 'Engines' : 'Limiters';
  return (
    <section class="part" aria-labelledby={name}>
      <h2 id={name}>{title}</h2>
      {'value' in known ? (
        <ServicePart name={name} service={known.value} />
      ) : (
        <p class="empty">Not known: {known.not_known}.</p>
      )}
    </section>
  );
}

/** View of a single process with memory storage, which has no shards. */
function AlonePart({
  report: { engine, limiter },
}: {
  readonly report: Extract<ClusterReport, { kind: 'alone' }>;
}) {
  const loads: readonly (readonly [string, LoadReport | null])[] = [
    ['Engine', engine],
    ['Limiter', limiter],
  ];
  return (
    <section class="card" aria-labelledby="alone">
      <h2 id="alone">One process, no cluster</h2>
      <p>
        This process keeps all data in memory. It has no shards, no journal and no other nodes. All
        data is lost when the process stops.
      </p>
      <LoadTable
        loads={loads.flatMap(([name, load]) => (load === null ? [] : [[name, load] as const]))}
      />
    </section>
  );
}
