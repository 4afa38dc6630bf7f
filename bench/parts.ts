import { journalAge } from '#bench/durable/journal-age';
import { cluster, engines, frameworks, many, onFile } from '#bench/durable/parts';
import { agentTurn } from '#bench/features/agent-turn';
import { client } from '#bench/features/client';
import { fleet } from '#bench/features/fleet';
import { past } from '#bench/features/past';
import { streams } from '#bench/features/streams';
import { traces } from '#bench/features/traces';
import { transitions } from '#bench/features/transitions';
import { latency } from '#bench/latency/part';
import { limiter } from '#bench/limiter/limiter-report';
import { instances } from '#bench/memory/instances';
import { service } from '#bench/memory/service';
import { starts } from '#bench/memory/starts';
import { largeFile } from '#bench/one-file/report';
import { fileRestart } from '#bench/one-file/restart';
import type { Part } from '#bench/page/part';
import { restart } from '#bench/scale/fail-over/restart';
import { takeover } from '#bench/scale/fail-over/takeover';
import { fleetIndex } from '#bench/scale/fleet-index';
import { history } from '#bench/scale/history';
import { limit } from '#bench/scale/limit';
import { listing } from '#bench/scale/listing';
import { accounts } from '#bench/scale/rates/accounts';
import { growth } from '#bench/scale/rates/growth';

/** All parts of the benchmark, in the order of the page. */
export const PARTS: readonly Part[] = [
  ...[service, instances, starts],
  ...[fleet, transitions, past, streams, traces, client, agentTurn],
  ...[cluster, engines, frameworks, many],
  ...[onFile, fileRestart, largeFile],
  ...[limiter, accounts, limit],
  latency,
  ...[growth, listing, history],
  ...[takeover, restart, fleetIndex, journalAge],
];
