import { getAccount, getAudit } from '#edge/endpoints/account';
import { createCheckout, notifyBilling, openPortal } from '#edge/endpoints/billing';
import type { Endpoint } from '#edge/endpoints/endpoint';
import { listEvents } from '#edge/endpoints/events';
import { processFleet } from '#edge/endpoints/fleet';
import {
  createInstance,
  deleteInstance,
  getFleet,
  getInstance,
  listInstances,
  resetInstance,
  updateInstance,
} from '#edge/endpoints/instances';
import {
  processBatch,
  processObservation,
  simulateObservations,
} from '#edge/endpoints/observations';
import { forkInstance, getStates } from '#edge/endpoints/past';
import {
  getContract,
  getDrift,
  getHistory,
  getSnapshot,
  streamEvents,
} from '#edge/endpoints/reads';
import { getPersona, getQuestions, listPersonas, submitTest } from '#edge/endpoints/test';
import { WEBHOOK_ENDPOINTS } from '#edge/endpoints/webhooks';

/** All endpoints: the 16 endpoints of interface 4 in their order, then the later endpoints. */
export const ENDPOINTS: readonly Endpoint[] = [
  createInstance,
  listInstances,
  getInstance,
  updateInstance,
  deleteInstance,
  processObservation,
  processBatch,
  getSnapshot,
  getContract,
  resetInstance,
  getHistory,
  getDrift,
  submitTest,
  getQuestions,
  listPersonas,
  getPersona,
  getAccount,
  simulateObservations,
  streamEvents,
  processFleet,
  listEvents,
  getFleet,
  getStates,
  forkInstance,
  ...WEBHOOK_ENDPOINTS,
  getAudit,
  createCheckout,
  openPortal,
  notifyBilling,
];
