// SPDX-License-Identifier: UNLICENSED
pragma solidity ^0.8.28;

import {Timelocks} from "./Timelocks.sol";

/// Generation 1: a plain token, and beside it the lockup that holds what grants hold.
contract SecurityTokenV1 {
    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    string public name;
    string public symbol;
    uint8 public immutable decimals;
    uint256 public totalSupply;
    address private immutable admin = msg.sender;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;

    constructor(string memory name_, string memory symbol_, uint8 decimals_, uint256 supply) {
        name = name_;
        symbol = symbol_;
        decimals = decimals_;
        totalSupply = supply;
        balanceOf[msg.sender] = supply;
        emit Transfer(address(0), msg.sender, supply);
    }

    function approve(address spender, uint256 amount) external returns (bool) {
        allowance[msg.sender][spender] = amount;
        emit Approval(msg.sender, spender, amount);
        return true;
    }

    function transfer(address to, uint256 amount) external returns (bool) {
        move(msg.sender, to, amount);
        return true;
    }

    function transferFrom(address from, address to, uint256 amount) external returns (bool) {
        move(from, to, amount);
        allowance[from][msg.sender] -= amount;
        emit Approval(from, msg.sender, allowance[from][msg.sender]);
        return true;
    }

    function mint(address to, uint256 amount) external {
        require(msg.sender == admin, "role missing");
        totalSupply += amount;
        balanceOf[to] += amount;
        emit Transfer(address(0), to, amount);
    }

    function burn(uint256 amount) external {
        balanceOf[msg.sender] -= amount;
        totalSupply -= amount;
        emit Transfer(msg.sender, address(0), amount);
    }

    function move(address from, address to, uint256 amount) private {
        balanceOf[from] -= amount;
        balanceOf[to] += amount;
        emit Transfer(from, to, amount);
    }
}

contract TokenLockupV1 is Timelocks {
    SecurityTokenV1 public immutable token;

    constructor(SecurityTokenV1 token_) {
        token = token_;
    }

    function balanceOf(address who) external view returns (uint256) {
        return timelockBalanceOf(who);
    }

    function fundReleaseSchedule(
        address to,
        uint256 amount,
        uint256 commencementTimestamp,
        uint256 scheduleId,
        address[] calldata cancelableBy
    ) external returns (bool) {
        fund(to, amount, commencementTimestamp, scheduleId, cancelableBy);
        return true;
    }

    function batchFundReleaseSchedule(
        address[] calldata to,
        uint256[] calldata amounts,
        uint256[] calldata commencementTimestamps,
        uint256[] calldata scheduleIds,
        address[] calldata cancelableBy
    ) external returns (bool) {
        for (uint256 i = 0; i < to.length; i++) {
            fund(to[i], amounts[i], commencementTimestamps[i], scheduleIds[i], cancelableBy);
        }
        return true;
    }

    function transfer(address to, uint256 amount) external returns (bool) {
        require(takeUnlocked(msg.sender, amount) == amount, "more than unlocked");
        return token.transfer(to, amount);
    }

    function transferTimelock(address to, uint256 amount, uint256 timelockId) external returns (bool) {
        takeClaim(msg.sender, amount, timelockId);
        return token.transfer(to, amount);
    }

    function cancelTimelock(
        address target,
        uint256 timelockIndex,
        uint256 scheduleId,
        uint256 commencementTimestamp,
        uint256 amount,
        address reclaimTokenTo
    ) external returns (bool) {
        (uint256 canceled, uint256 paid) = closeTimelock(
            target,
            timelockIndex,
            scheduleId,
            commencementTimestamp,
            amount
        );
        token.transfer(reclaimTokenTo, canceled);
        if (paid > 0) token.transfer(target, paid);
        emit TimelockCanceled(msg.sender, target, timelockIndex, reclaimTokenTo, canceled, paid);
        return true;
    }

    function fund(
        address to,
        uint256 amount,
        uint256 commencementTimestamp,
        uint256 scheduleId,
        address[] calldata cancelableBy
    ) private {
        token.transferFrom(msg.sender, address(this), amount);
        uint256 id = openTimelock(to, amount, commencementTimestamp, scheduleId, cancelableBy);
        emit ScheduleFunded(
            msg.sender,
            to,
            scheduleId,
            amount,
            commencementTimestamp,
            id,
            cancelableBy
        );
    }
}
