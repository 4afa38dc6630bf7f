import { FileSpool } from '../../src/file-spool.ts';
import { ObservationBuffer } from '../../src/identity-engine.ts';
import { agentOn } from './agent-scene.ts';
import { clientOf } from './clients.ts';

/** Program that ends one turn, prints `ended`, and waits. Arguments: base address, spool file. */
const [baseUrl = '', file = ''] = process.argv.slice(2);
const buffer = new ObservationBuffer(clientOf({ baseUrl }), { spool: new FileSpool(file) });
const { agent } = agentOn({ baseUrl }, { buffer });
await agent.turn({ runId: 'run-1' }, (turn) => turn.used('look_up', 'ok'));
console.log('ended');
