import { readFileSync, writeFileSync } from 'node:fs';
import { WORDING } from '#identity/contract-prompt';
import {
  APPRAISAL_INSTRUCTIONS,
  APPRAISAL_RULES,
  APPRAISAL_SCHEMA,
} from '../typescript/src/agent/appraiser.ts';

/*
 * Writes the agent parts of both clients: copies the prompt of a contract for TypeScript, writes
 * the wording and the texts and rules of appraisals as JSON for Python, and records the golden
 * cases that both clients test.
 * Usage: node clients/agent/write-agent.ts
 */

const SOURCE = 'services/domain/identity/contract-prompt.ts';
const TYPESCRIPT = 'clients/typescript/src/agent/contract-prompt.ts';
const PYTHON = 'clients/python/src/identity_engine/_agent/tables.json';
const CASES = 'clients/agent/agent-cases.json';

const header = `// Copied from ${SOURCE} by clients/agent/write-agent.ts. Change the source.\n`;
writeFileSync(TYPESCRIPT, header + readFileSync(SOURCE, 'utf8'));
const json = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`;
const tables = {
  wording: WORDING,
  appraisal_rules: APPRAISAL_RULES,
  appraisal_schema: APPRAISAL_SCHEMA,
  appraisal_instructions: APPRAISAL_INSTRUCTIONS,
};
writeFileSync(PYTHON, json(tables));
const { agentCases } = await import('./agent-cases.ts');
writeFileSync(CASES, json(agentCases()));
