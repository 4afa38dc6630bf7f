"""Parts of an agent that send no requests: prompt, tool policy and appraisal of turns."""
