import { Checkpointer } from '#runtime/checkpointer';

/*
 * Loaded in front of an engine (`node --import`): it stores nothing of its own accord, so that its
 * tail reaches its bound before the oldest of it is 20 s old. No other rule changes.
 */
Checkpointer.prototype.startDue = () => undefined;
