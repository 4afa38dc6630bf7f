import type { Endpoint } from '#edge/endpoint';
import { createCheckout } from '#edge/endpoints/create-checkout';
import { createInstance } from '#edge/endpoints/create-instance';
import { deleteInstance } from '#edge/endpoints/delete-instance';
import { getAccount } from '#edge/endpoints/get-account';
import { getAudit } from '#edge/endpoints/get-audit';
import { getContract } from '#edge/endpoints/get-contract';
import { getDrift } from '#edge/endpoints/get-drift';
import { getHistory } from '#edge/endpoints/get-history';
import { getInstance } from '#edge/endpoints/get-instance';
import { getPersona } from '#edge/endpoints/get-persona';
import { getQuestions } from '#edge/endpoints/get-questions';
import { getSnapshot } from '#edge/endpoints/get-snapshot';
import { listInstances } from '#edge/endpoints/list-instances';
import { listPersonas } from '#edge/endpoints/list-personas';
import { notifyBilling } from '#edge/endpoints/notify-billing';
import { openPortal } from '#edge/endpoints/open-portal';
import { processBatch } from '#edge/endpoints/process-batch';
import { processObservation } from '#edge/endpoints/process-observation';
import { resetInstance } from '#edge/endpoints/reset-instance';
import { simulateObservations } from '#edge/endpoints/simulate-observations';
import { streamEvents } from '#edge/endpoints/stream-events';
import { submitTest } from '#edge/endpoints/submit-test';
import { updateInstance } from '#edge/endpoints/update-instance';

/** All endpoints: the 16 of interface 4 in its order, then those that came later. */
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
  getAudit,
  createCheckout,
  openPortal,
  notifyBilling,
];
