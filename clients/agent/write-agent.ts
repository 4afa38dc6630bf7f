import { readFileSync, writeFileSync } from 'node:fs';
import { WORDING } from '#identity/contract-prompt';
import { APPRAISAL_RULES } from '../typescript/src/agent/appraiser.ts';

/*
 * Writes the agent parts of both clients: copies the prompt of a contract for TypeScript, writes
 * wording and rules as JSON for Python, and records the golden cases that both clients test.
 * Usage: node clients/agent/write-agent.ts
 */

const SOURCE = 'services/domain/identity/contract-prompt.ts';
const TYPESCRIPT = 'clients/typescript/src/agent/contract-prompt.ts';
const PYTHON = 'clients/python/src/identity_engine/_agent/tables.json';
const CASES = 'clients/agent/agent-cases.json';

const header = `// Copied from ${SOURCE} by clients/agent/write-agent.ts. Change the source.\n`;
writeFileSync(TYPESCRIPT, header + readFileSync(SOURCE, 'utf8'));
const json = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`;
writeFileSync(PYTHON, json({ wording: WORDING, appraisal_rules: APPRAISAL_RULES }));
const { agentCases } = await import('./agent-cases.ts');
writeFileSync(CASES, json(agentCases()));
