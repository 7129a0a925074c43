package controller

import (
	"errors"
	"fmt"
	"strings"

	"kz/internal/zk"
	"kz/zkpaths"
)

// Two kinds of requests come through znodes that this controller does not serve: topic
// deletion and reassignment. It watches both, says so in the log, once per znode and
// reign, and leaves them in place: a znode may be the record of something that a Kafka
// controller has half done, and that one will carry on when its turn comes. A topic that
// is marked for deletion is treated like any other meanwhile.

// refuse logs a refusal, once.
func (c *Controller) refuse(path, what string) {
	if c.refused[path] {
		return
	}
	c.refused[path] = true
	c.log.Warn().Str("path", path).Msg(what)
}

// refuseDeletions looks at /admin/delete_topics. As in Kafka, marks of topics that do not
// exist are removed, and all marks are, when delete.topic.enable is false.
func (c *Controller) refuseDeletions() error {
	marks, err := c.children(zkpaths.DeleteTopics)
	if err != nil {
		return err
	}
	var remove []string
	for _, path := range marks {
		name := strings.TrimPrefix(path, zkpaths.DeleteTopics+"/")
		if _, exists := c.cluster.topics[name]; !exists || !c.cfg.DeleteTopicEnable {
			c.log.Warn().Str("path", path).Bool("exists", exists).Bool("delete.topic.enable", c.cfg.DeleteTopicEnable).
				Msg("topic will not be deleted; its mark is removed")
			remove = append(remove, path)
			continue
		}
		c.refuse(path, "this controller does not delete topics; the topic goes on and its mark is left in place")
	}
	return c.deleteAll(remove)
}

// refuseReassignment looks at /admin/reassign_partitions and arms its watch.
func (c *Controller) refuseReassignment() error {
	r, err := c.do1(zk.ExistsOp(zkpaths.ReassignPartitions))
	if errors.Is(err, zk.NoNode) {
		delete(c.refused, zkpaths.ReassignPartitions) // the next one is another request
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", zkpaths.ReassignPartitions, err)
	}
	c.refuse(zkpaths.ReassignPartitions, fmt.Sprintf("this controller does not reassign partitions; the request (%d bytes) is left in place and must be removed by hand", r.Stat.DataLength))
	return nil
}
