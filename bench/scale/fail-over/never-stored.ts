import { Checkpointer } from '#actor-runtime/checkpointer';

/*
 * Disables periodic checkpoints, so that the tail grows. Separate because `node --import` preloads
 * this file into an engine.
 */
Checkpointer.prototype.startDue = () => undefined;
