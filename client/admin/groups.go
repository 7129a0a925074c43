package admin

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/client"
	"kz/client/assignor"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// GroupListing is a group in a list.
type GroupListing struct {
	Group string `json:"group"`
	State string `json:"state,omitempty"` // "" before ListGroups 4
}

// ErrNoBrokers is what Kafka says when no broker told which brokers there are.
var ErrNoBrokers = errors.New("Failed to find brokers to send ListGroups")

// ListGroups asks every broker for the groups it coordinates; states, when not empty,
// are the only ones wanted. Groups of other kinds than consumers are left out, those
// without members are in: nobody can tell what they were.
func (a *Admin) ListGroups(ctx context.Context, states []string) ([]GroupListing, error) {
	ctx, cancel, _ := a.c.Deadline(ctx)
	defer cancel()
	cl, err := a.Topics(ctx, "findAllBrokers", []string{})
	if err != nil {
		return nil, ErrNoBrokers
	}
	var out []GroupListing
	for id := range cl.Brokers {
		err := a.call(ctx, "listConsumerGroups", func(ctx context.Context, _ int) error {
			some, err := a.listGroupsOf(ctx, id, states)
			out = append(out, some...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out, func(a, b GroupListing) int { return strings.Compare(a.Group, b.Group) })
	return slices.Compact(out), nil
}

func (a *Admin) listGroupsOf(ctx context.Context, node int32, states []string) (out []GroupListing, err error) {
	req := kmsg.NewPtrListGroupsRequest()
	req.StatesFilter = states
	resp, err := a.c.Node(ctx, node, req)
	if err != nil {
		return nil, err
	}
	r := resp.(*kmsg.ListGroupsResponse)
	if err := refusal(r.ErrorCode, nil); err != nil {
		return nil, err
	}
	for _, g := range r.Groups {
		if g.ProtocolType == assignor.ProtocolType || g.ProtocolType == "" {
			out = append(out, GroupListing{g.Group, g.GroupState})
		}
	}
	return out, nil
}

// GroupDescription is a group as its coordinator knows it. A group that does not exist
// is described as Dead. Mirrors ConsumerGroupDescription.
type GroupDescription struct {
	Group       string
	State       string // PreparingRebalance, CompletingRebalance, Stable, Dead, Empty
	Protocol    string // the assignor's name, while Stable
	Coordinator client.Broker
	Members     []MemberDescription
}

// MemberDescription is one member and what it reads.
type MemberDescription struct {
	ID         string
	InstanceID string // "" = a dynamic member
	ClientID   string
	Host       string
	Assignment []topic.Partition
}

// DescribeGroup asks the group's coordinator.
func (a *Admin) DescribeGroup(ctx context.Context, group string) (GroupDescription, error) {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = []string{group}
	out := GroupDescription{Group: group}
	err := a.atCoordinator(ctx, "describeConsumerGroups", group, req, func(resp kmsg.Response) error {
		for _, g := range resp.(*kmsg.DescribeGroupsResponse).Groups {
			if err := refusal(g.ErrorCode, nil); err != nil {
				return err
			}
			if err := out.read(g); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		out.Coordinator, err = a.Coordinator(ctx, group)
	}
	return out, err
}

func (d *GroupDescription) read(g kmsg.DescribeGroupsResponseGroup) error {
	if g.ProtocolType != "" && g.ProtocolType != assignor.ProtocolType {
		return &Error{Code: kafkaerr.InvalidGroupID, Text: "GroupId " + g.Group + " is not a consumer group (" + g.ProtocolType + ")."}
	}
	d.State, d.Protocol, d.Members = g.State, g.Protocol, nil
	for _, m := range g.Members {
		md := MemberDescription{ID: m.MemberID, ClientID: m.ClientID, Host: m.ClientHost}
		if m.InstanceID != nil {
			md.InstanceID = *m.InstanceID
		}
		var err error
		if md.Assignment, err = assignor.DecodeAssignment(m.MemberAssignment); err != nil {
			return kafkaerr.New(kafkaerr.InvalidRequest, "member "+m.MemberID+": "+err.Error())
		}
		d.Members = append(d.Members, md)
	}
	return nil
}

// DeleteGroup forgets a group without members, and its offsets.
func (a *Admin) DeleteGroup(ctx context.Context, group string) error {
	req := kmsg.NewPtrDeleteGroupsRequest()
	req.Groups = []string{group}
	return a.atCoordinator(ctx, "deleteConsumerGroups", group, req, func(resp kmsg.Response) error {
		for _, g := range resp.(*kmsg.DeleteGroupsResponse).Groups {
			if err := refusal(g.ErrorCode, nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// RemoveStaticMember makes a member of group.instance.id leave, which it does not do
// by itself when it ends. Mirrors removeMembersFromConsumerGroup.
func (a *Admin) RemoveStaticMember(ctx context.Context, group, instanceID string) error {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group = group
	m := kmsg.NewLeaveGroupRequestMember()
	m.InstanceID = &instanceID
	req.Members = append(req.Members, m)
	return a.atCoordinator(ctx, "leaveGroup", group, req, func(resp kmsg.Response) error {
		r := resp.(*kmsg.LeaveGroupResponse)
		for _, m := range r.Members {
			if err := refusal(m.ErrorCode, nil); err != nil {
				return err
			}
		}
		return refusal(r.ErrorCode, nil)
	})
}
