import type {
  ClusterReport,
  Known,
  NodeReport,
  OfCluster,
  ServiceReport,
  UnservedState,
} from '#pages/cluster/answers';
import { counted, numberText } from '#pages/parts/format';

/**
 * Severity. `critical`: callers are affected or will be soon. `warning`: the problem can wait until
 * morning. `notice`: information only.
 */
export type Level = 'critical' | 'warning' | 'notice';

/** Description of a problem, and the runbook entry with its remedy. */
export type Alert = {
  readonly level: Level;
  readonly text: string;
  readonly entry?: string;
};

/**
 * Maximum number of unstored records without an alert. The alert UnflushedTailGrows has the same
 * threshold.
 */
const UNSTORED_RECORDS_MAX = 150_000;

/** Maximum age of an unstored record, in seconds: twice the normal maximum. */
const UNSTORED_S_MAX = 240;

/** Maximum time for a shard to move, in seconds. A move normally takes tenths of a second. */
const OPENING_S_MAX = 5;

const LEVELS: readonly Level[] = ['critical', 'warning', 'notice'];

/** Alerts of a report, most severe first. */
export function alertsOf(report: ClusterReport): readonly Alert[] {
  if (report.kind === 'alone') return [];
  const alerts = [
    ...busAlerts(report),
    ...serviceAlerts('engine', report.engine, report),
    ...serviceAlerts('limiter', report.limiter, report),
    ...releaseAlerts(report),
  ];
  return alerts.sort((one, other) => LEVELS.indexOf(one.level) - LEVELS.indexOf(other.level));
}

/** Number of shards that no node serves now. */
export function unservedCountOf({ unserved }: Pick<ServiceReport, 'unserved'>): number {
  return Object.values(unserved).reduce((sum, count) => sum + count, 0);
}

/** Returns a sentence: all shards are served, or how many shards are not served. */
export function servedText({ engine, limiter }: OfCluster): string {
  const services = [engine, limiter].flatMap((known) => valueIn(known) ?? []);
  const waiting = services.reduce((sum, service) => sum + unservedCountOf(service), 0);
  if (waiting === 0) return 'All shards are served';
  return `${counted(waiting, 'shard')} ${waiting === 1 ? 'is' : 'are'} not served yet`;
}

/** Formats a duration in seconds: `3.2 s`, `4 min`, `2 h`. */
export function durationText(seconds: number): string {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3_600)} h`;
}

/** Node name, or the start of its incarnation. */
export function nodeName({ node, incarnation }: Pick<NodeReport, 'node' | 'incarnation'>): string {
  return node ?? `${incarnation.slice(0, 8)}…`;
}

/** Returns the value, or undefined if the value is unknown. */
function valueIn<Value>(known: Known<Value>): Value | undefined {
  return 'value' in known ? known.value : undefined;
}

function busAlerts({ is_bus_connected }: OfCluster): Alert[] {
  if (is_bus_connected) return [];
  const text = 'This process is not connected to NATS. Nodes without a heartbeat may be healthy.';
  return [{ level: 'critical', text, entry: 'BusDisconnected' }];
}

function serviceAlerts(
  name: 'engine' | 'limiter',
  known: Known<ServiceReport>,
  { watched_s }: OfCluster,
): Alert[] {
  const service = valueIn(known);
  if (service === undefined) {
    const why = 'not_known' in known ? known.not_known : '';
    const isNew = why.includes('has ever owned');
    const text = `The state of the ${name}s is unknown: ${why}.`;
    return [{ level: 'critical', text, entry: isNew ? 'ProcessDown' : 'StoreFails' }];
  }
  return [
    ...tableAlerts(name, service),
    ...shardAlerts(name, service, watched_s),
    ...service.nodes.flatMap((node) => stateAlerts(name, node)),
    ...service.nodes.flatMap((node) => storeAlerts(name, node)),
    ...silentAlerts(name, service),
    ...service.strangers.map(
      (stranger): Alert => ({
        level: 'warning',
        text: `Cluster ${stranger} uses the same NATS subjects; its messages are ignored.`,
        entry: 'ForgedMessages',
      }),
    ),
  ];
}

function tableAlerts(name: string, { table_fault, table_age_s }: ServiceReport): Alert[] {
  if (table_fault === null) return [];
  const age = durationText(table_age_s);
  const text = `The ${name} shard owners were last read ${age} ago; reads fail: ${table_fault}.`;
  return [{ level: 'critical', text, entry: 'StoreFails' }];
}

function shardAlerts(name: string, service: ServiceReport, watchedS: number): Alert[] {
  if (!service.nodes.some(({ silent_s }) => silent_s !== null)) {
    return [{ level: 'critical', text: `No ${name} sends heartbeats.`, entry: 'ProcessDown' }];
  }
  const alerts: Alert[] = [];
  const { unowned, moving } = service.unserved;
  if (unowned > 0) {
    const since = sinceText(service, 'unowned', watchedS);
    const text = `${shardsOf(unowned, name)} ${unowned === 1 ? 'has' : 'have'} no owner ${since}.`;
    alerts.push({ level: 'critical', text, entry: 'ShardWithoutOwner' });
  }
  const longest = longestOf(service, 'moving');
  if (moving > 0 && longest > OPENING_S_MAX) {
    const since = sinceText(service, 'moving', watchedS);
    const text = `${shardsOf(moving, name)} ${moving === 1 ? 'is' : 'are'} owned and not served ${since}.`;
    alerts.push({ level: 'critical', text, entry: 'ShardWithoutOwner' });
  }
  return alerts;
}

function shardsOf(count: number, name: string): string {
  return `${counted(count, 'shard')} of the ${name}s`;
}

function longestOf({ unserved_shards }: ServiceReport, state: UnservedState): number {
  const since = unserved_shards.filter((one) => one.state === state).map(({ since_s }) => since_s);
  return Math.max(0, ...since);
}

/**
 * Returns how long shards have been in a state. If a shard was in this state when the report's
 * process began to watch, the text adds "or longer".
 */
function sinceText(service: ServiceReport, state: UnservedState, watchedS: number): string {
  const longest = longestOf(service, state);
  const isOlder = longest > 0 && longest >= watchedS - 3;
  return `for ${durationText(longest)}${isOlder ? ' or longer' : ''}`;
}

/**
 * Node name for use within a sentence. Adds the service name, unless the node name starts with the
 * service name.
 */
function nameIn(service: string, node: NodeReport): string {
  const name = nodeName(node);
  return name.startsWith(service) ? name : `the ${service} ${name}`;
}

/** Capitalizes a leading article. Node names stay unchanged. */
function beginning(text: string): string {
  return text.replace(/^the /, 'The ');
}

function stateAlerts(service: string, node: NodeReport): Alert[] {
  const name = beginning(nameIn(service, node));
  const shards = counted(node.owns, 'shard');
  switch (node.state) {
    case 'not heard': {
      const silent = node.silent_s === null ? '' : ` for ${durationText(node.silent_s)}`;
      const text = `${name} has sent no heartbeat${silent}, and owns ${shards}.`;
      return [{ level: 'critical', text, entry: 'ProcessDown' }];
    }
    case 'sealed': {
      const text = `The journal of ${nameIn(service, node)} is sealed; ${shards} wait for the new owner.`;
      return [{ level: 'critical', text, entry: 'JournalFenced' }];
    }
    case 'wrong clock': {
      const text = `The clock of ${nameIn(service, node)} is wrong. The node releases its shards and claims none.`;
      return [{ level: 'critical', text, entry: 'ClockDeviates' }];
    }
    case 'leaving': {
      const text = `${name} leaves; ${shards} remain to be handed off.`;
      return [{ level: 'notice', text }];
    }
    case 'serving': {
      if (node.agrees !== false) return [];
      const text = `${name} sees other members than this process. This is usual for seconds after a start.`;
      return [{ level: 'warning', text, entry: 'BusDisconnected' }];
    }
  }
}

/**
 * Alerts for nodes with heartbeats but without a load report, if another node of the service
 * reports its load.
 */
function silentAlerts(service: string, { nodes }: ServiceReport): Alert[] {
  const heard = nodes.filter(({ state }) => state !== 'not heard' && state !== 'sealed');
  if (heard.every(({ load }) => 'not_known' in load)) return [];
  return heard.flatMap((node): Alert[] => {
    if ('value' in node.load) return [];
    const name = beginning(nameIn(service, node));
    const text = `${name} reports no load: ${node.load.not_known}. Nodes of release 1.0 cannot report load.`;
    return [{ level: 'warning', text, entry: 'ProcessDown' }];
  });
}

function storeAlerts(service: string, node: NodeReport): Alert[] {
  const load = valueIn(node.load);
  if (load === undefined) return [];
  const { unstored_records: records, oldest_unstored_s: oldest } = load;
  const age = oldest === null ? '' : `, the oldest for ${durationText(oldest)}`;
  const name = nameIn(service, node);
  const text = `${numberText(records)} records in the journal of ${name} are not stored yet${age}.`;
  if (records > UNSTORED_RECORDS_MAX) {
    return [{ level: 'critical', text, entry: 'UnflushedTailGrows' }];
  }
  if ((oldest ?? 0) <= UNSTORED_S_MAX) return [];
  return [{ level: 'warning', text, entry: 'CheckpointsFail' }];
}

function releaseAlerts({ engine, limiter }: OfCluster): Alert[] {
  const nodes = [engine, limiter].flatMap((service) => valueIn(service)?.nodes ?? []);
  const releases = new Set(nodes.flatMap(({ release }) => release ?? []));
  if (releases.size < 2) return [];
  const text = `Nodes run different releases: ${[...releases].sort().join(', ')}.`;
  return [{ level: 'notice', text }];
}

/** Indexes of the nodes. Nodes with the most severe problem come first. Ties are sorted by name. */
export function troubleFirst(nodes: readonly NodeReport[]): readonly number[] {
  return nodes
    .map((node, place) => ({ place, rank: rankOf(node), name: nodeName(node) }))
    .sort((one, other) => one.rank - other.rank || (one.name < other.name ? -1 : 1))
    .map(({ place }) => place);
}

function rankOf({ state, agrees, load }: NodeReport): number {
  if (state === 'not heard' || state === 'sealed') return 0;
  if (state === 'wrong clock') return 1;
  if (state === 'leaving') return 2;
  if (agrees === false) return 3;
  return 'not_known' in load ? 4 : 5;
}
