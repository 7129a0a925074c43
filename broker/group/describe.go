package group

import (
	"slices"
	"strings"

	"kz/internal/kafkaerr"
)

// Describe tells of one group. One that does not exist is "Dead". Mirrors
// GroupCoordinator.handleDescribeGroup.
func (c *Coordinator) Describe(id string) (d Description) {
	if code := c.check(id, mayBeEmpty); code != kafkaerr.None {
		return Description{Code: code}
	}
	g := c.lookup(id)
	if g == nil {
		return Description{State: Dead.String()}
	}
	g.act(func() {
		d = Description{State: g.state.String(), ProtocolType: g.protocolType}
		stable := g.is(Stable)
		if stable {
			d.Protocol = *g.protocol
		}
		for _, m := range g.order {
			dm := DescribedMember{ID: m.id, InstanceID: m.instanceID, ClientID: m.clientID, ClientHost: m.clientHost}
			if stable {
				dm.Metadata, _ = m.metadata(d.Protocol)
				dm.Assignment = m.assignment
			}
			d.Members = append(d.Members, dm)
		}
	})
	return d
}

// List tells of all groups here that are in one of the states; no states: of all. The
// list is complete only when the code is NONE. Mirrors GroupCoordinator.handleListGroups.
func (c *Coordinator) List(states []string) (out []Listed, code kafkaerr.Code) {
	if !c.active.Load() {
		return nil, kafkaerr.CoordinatorNotAvailable
	}
	if c.loadsAny() {
		code = kafkaerr.CoordinatorLoadInProgress
	}
	for _, g := range c.all() {
		g.act(func() {
			if len(states) == 0 || slices.Contains(states, g.state.String()) {
				out = append(out, Listed{Group: g.id, ProtocolType: g.protocolType, State: g.state.String()})
			}
		})
	}
	slices.SortFunc(out, func(a, b Listed) int { return strings.Compare(a.Group, b.Group) })
	return out, code
}
